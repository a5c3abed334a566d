'use strict';

const { errors } = require('./lib/errors.js');
const { Float, Node, Path, Point, Relationship, Vector } = require('./lib/graph.js');
const { Result } = require('./lib/result.js');
const { Database, Session, open, openSync } = require('./lib/session.js');
const { Stream } = require('./lib/stream.js');
const { ArrowTable, fromArrow } = require('./lib/tables.js');
const temporal = require('./lib/temporal.js');
const { Transaction } = require('./lib/transaction.js');
const { Load } = require('./lib/load.js');
const { version } = require('./package.json');

module.exports = {
  open,
  openSync,
  fromArrow,
  version,
  Database,
  Session,
  Transaction,
  Result,
  Stream,
  Load,
  ArrowTable,
  Node,
  Relationship,
  Path,
  Point,
  Vector,
  Float,
  LocalDate: temporal.LocalDate,
  LocalTime: temporal.LocalTime,
  ZonedTime: temporal.ZonedTime,
  LocalDateTime: temporal.LocalDateTime,
  ZonedDateTime: temporal.ZonedDateTime,
  Duration: temporal.Duration,
  ...errors,
};
