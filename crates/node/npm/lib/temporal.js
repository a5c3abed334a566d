'use strict';

// Dates, times and durations, which lose nothing. Their texts are those of Cypher.

const { daysOf, dateOf } = require('./calendar.js');
const native = require('./native.js');
const { checked } = require('./errors.js');

const INSPECT = Symbol.for('nodejs.util.inspect.custom');
const DAY = 86_400;
const GIGA = 1_000_000_000;

/** The number, if it is whole and in these bounds. */
function whole(name, value, least, most) {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new RangeError(`${name} is a whole number from ${least} to ${most}, not ${value}`);
  }
  return value;
}

/** An instance of a class with these fields, without its constructor. */
function make(type, fields) {
  return Object.assign(Object.create(type.prototype), fields);
}

function parse(type, kind, text) {
  if (typeof text !== 'string') throw new TypeError(`${type.name}.parse takes a string`);
  const { decodeChunk } = require('./decode.js');
  const value = decodeChunk(checked(native.Texts.parse(kind, text)), false).columns[0][0];
  return value;
}

class Temporal {
  toString() {
    const { encodeValue } = require('./encode.js');
    return checked(native.Texts.of(encodeValue(this, 'the value')));
  }

  toJSON() {
    return this.toString();
  }

  [INSPECT]() {
    return `${this.constructor.name}(${this})`;
  }
}

function dateFields(year, month, day) {
  whole('year', year, -999_999_999, 999_999_999);
  whole('month', month, 1, 12);
  const epochDay = daysOf(year, month, whole('day', day, 1, 31));
  if (dateOf(epochDay)[2] !== day) throw new RangeError(`month ${month} has no day ${day}`);
  return epochDay;
}

function timeFields(hour, minute, second, nanosecond) {
  whole('hour', hour, 0, 23);
  whole('minute', minute, 0, 59);
  whole('second', second, 0, 59);
  whole('nanosecond', nanosecond, 0, GIGA - 1);
  return (hour * 3600 + minute * 60 + second) * GIGA + nanosecond;
}

/** Adds getters of the calendar or the clock to a class. */
function withFields(type, ...groups) {
  for (const [name, get] of groups.flatMap((group) => Object.entries(group))) {
    Object.defineProperty(type.prototype, name, { get, configurable: true });
  }
}

const ofDate = {
  year() {
    return dateOf(this.epochDay)[0];
  },
  month() {
    return dateOf(this.epochDay)[1];
  },
  day() {
    return dateOf(this.epochDay)[2];
  },
};

const ofTime = {
  hour() {
    return Math.floor(this.nanosecondOfDay / (3600 * GIGA));
  },
  minute() {
    return Math.floor(this.nanosecondOfDay / (60 * GIGA)) % 60;
  },
  second() {
    return Math.floor(this.nanosecondOfDay / GIGA) % 60;
  },
  nanosecond() {
    return this.nanosecondOfDay % GIGA;
  },
};

/** A date. */
class LocalDate extends Temporal {
  constructor(year, month, day) {
    super();
    this.epochDay = dateFields(year, month, day);
  }

  static parse(text) {
    return parse(LocalDate, 'DATE', text);
  }
}
withFields(LocalDate, ofDate);

/** A time of day, to the nanosecond. */
class LocalTime extends Temporal {
  constructor(hour, minute, second = 0, nanosecond = 0) {
    super();
    this.nanosecondOfDay = timeFields(hour, minute, second, nanosecond);
  }

  static parse(text) {
    return parse(LocalTime, 'LOCAL TIME', text);
  }
}
withFields(LocalTime, ofTime);

/** A time of day with an offset from UTC, in seconds. */
class ZonedTime extends Temporal {
  constructor(time, offset) {
    super();
    if (!(time instanceof LocalTime))
      throw new TypeError('ZonedTime takes a LocalTime and an offset');
    this.nanosecondOfDay = time.nanosecondOfDay;
    this.offset = whole('offset', offset, -64_800, 64_800);
  }

  static parse(text) {
    return parse(ZonedTime, 'ZONED TIME', text);
  }
}
withFields(ZonedTime, ofTime);

/** A date and a time of day, without a zone. */
class LocalDateTime extends Temporal {
  constructor(year, month, day, hour = 0, minute = 0, second = 0, nanosecond = 0) {
    super();
    this.epochDay = dateFields(year, month, day);
    this.nanosecondOfDay = timeFields(hour, minute, second, nanosecond);
  }

  static parse(text) {
    return parse(LocalDateTime, 'LOCAL DATETIME', text);
  }
}
withFields(LocalDateTime, ofDate, ofTime);

/** A moment: a date and time with an offset from UTC in seconds, and perhaps the name of a zone. */
class ZonedDateTime extends Temporal {
  constructor(local, offset, zone = null) {
    super();
    if (!(local instanceof LocalDateTime)) {
      throw new TypeError('ZonedDateTime takes a LocalDateTime, an offset and perhaps a zone');
    }
    this.epochDay = local.epochDay;
    this.nanosecondOfDay = local.nanosecondOfDay;
    this.offset = whole('offset', offset, -64_800, 64_800);
    this.zone = zone;
  }

  static parse(text) {
    return parse(ZonedDateTime, 'ZONED DATETIME', text);
  }

  /** The moment of a Date, in UTC. */
  static fromDate(date) {
    const time = date.getTime();
    if (Number.isNaN(time)) throw new RangeError('the Date is invalid');
    const epochDay = Math.floor(time / (DAY * 1000));
    const nanosecondOfDay = (time - epochDay * DAY * 1000) * 1_000_000;
    return make(ZonedDateTime, { epochDay, nanosecondOfDay, offset: 0, zone: null });
  }

  /** Nanoseconds since 1970 in UTC. */
  get epochNanoseconds() {
    const seconds = BigInt(this.epochDay) * BigInt(DAY) - BigInt(this.offset);
    return seconds * BigInt(GIGA) + BigInt(this.nanosecondOfDay);
  }

  /** Milliseconds since 1970 in UTC, rounded down. */
  get epochMilliseconds() {
    const seconds = this.epochDay * DAY - this.offset;
    return seconds * 1000 + Math.floor(this.nanosecondOfDay / 1_000_000);
  }

  /** The moment as a Date, which has milliseconds. */
  toDate() {
    return new Date(this.epochMilliseconds);
  }
}
withFields(ZonedDateTime, ofDate, ofTime);

/** An amount of time, of parts of which none has a fixed number of the others. */
class Duration extends Temporal {
  constructor({ months = 0, days = 0, seconds = 0, nanoseconds = 0, ...other } = {}) {
    super();
    const unknown = Object.keys(other)[0];
    if (unknown !== undefined) throw new TypeError(`a Duration has no ${unknown}`);
    this.months = part('months', months);
    this.days = part('days', days);
    this.seconds = part('seconds', seconds);
    this.nanoseconds = whole('nanoseconds', nanoseconds, 0, GIGA - 1);
  }

  static parse(text) {
    return parse(Duration, 'DURATION', text);
  }
}

/** A part of a duration: 64 bits, as a number where that holds it. */
function part(name, value) {
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) {
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
  if (!Number.isSafeInteger(value)) throw new RangeError(`${name} is an integer, not ${value}`);
  return value;
}

module.exports = {
  LocalDate,
  LocalTime,
  ZonedTime,
  LocalDateTime,
  ZonedDateTime,
  Duration,
  Temporal,
  make,
  INSPECT,
};
