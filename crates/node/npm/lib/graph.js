'use strict';

// Nodes, relationships and paths, as they were when the statement read them; points.

const { INSPECT } = require('./temporal.js');

/** A node. */
class Node {
  constructor(id, labels, properties) {
    this.id = id;
    this.labels = labels;
    this.properties = properties;
  }

  /** Its identity as text, as `elementId()` in Cypher. */
  get elementId() {
    return `n:${this.id}`;
  }
}

/** A relationship. */
class Relationship {
  constructor(id, elementId, type, startId, endId, properties) {
    this.id = id;
    this.elementId = elementId;
    this.type = type;
    this.startId = startId;
    this.endId = endId;
    this.properties = properties;
  }
}

/** A path: its nodes in order, and the relationships between them. */
class Path {
  constructor(nodes, relationships) {
    this.nodes = nodes;
    this.relationships = relationships;
  }

  /** Number of relationships. */
  get length() {
    return this.relationships.length;
  }
}

const FLAT = { 7203: 2, 4326: 2, 9157: 3, 4979: 3 };

/** A point: two or three coordinates in a reference system, by its EPSG number. */
class Point {
  constructor(x, y, z, srid) {
    const third = z !== undefined && z !== null;
    this.x = x;
    this.y = y;
    this.z = third ? z : null;
    this.srid = srid ?? (third ? 9157 : 7203);
    for (const at of third ? [x, y, z] : [x, y]) {
      if (typeof at !== 'number') throw new TypeError('coordinates of a Point are numbers');
    }
    const count = FLAT[this.srid];
    if (count === undefined) {
      throw new RangeError(`no reference system has the number ${this.srid}`);
    }
    if (count !== (third ? 3 : 2)) {
      throw new RangeError(`a point of ${this.srid} has ${count} coordinates`);
    }
  }

  [INSPECT]() {
    const all = this.z === null ? [this.x, this.y] : [this.x, this.y, this.z];
    return `Point(${all.join(', ')}; srid ${this.srid})`;
  }
}

/** Typed arrays of the coordinates of vectors, by the number of their type. */
const COORDINATES = [
  ['INTEGER8', Int8Array],
  ['INTEGER16', Int16Array],
  ['INTEGER32', Int32Array],
  ['INTEGER', BigInt64Array],
  ['FLOAT32', Float32Array],
  ['FLOAT', Float64Array],
];

/** A vector: numbers of one type, as a typed array of it. */
class Vector {
  constructor(coordinates) {
    if (!COORDINATES.some(([, of]) => coordinates instanceof of)) {
      throw new TypeError('a Vector is made of a typed array of signed integers or floats');
    }
    this.coordinates = coordinates;
  }

  /** The type of the coordinates, as Cypher names it. */
  get coordinateType() {
    return COORDINATES.find(([, of]) => this.coordinates instanceof of)[0];
  }

  /** Number of coordinates. */
  get dimension() {
    return this.coordinates.length;
  }

  [INSPECT]() {
    return `Vector([${this.coordinates.join(', ')}], ${this.coordinateType})`;
  }
}

/** A number that is a FLOAT as a parameter although it is whole. */
class Float {
  constructor(value) {
    if (typeof value !== 'number') throw new TypeError('a Float is made of a number');
    this.value = value;
  }

  valueOf() {
    return this.value;
  }
}

module.exports = { Node, Relationship, Path, Point, Vector, COORDINATES, Float };
