/** Telar: a transactional property graph database with openCypher, in your process. */

/** The version of the package. */
export const version: string;

/** The values that a cell of a result may be. INTEGER is a number where that holds it, else a bigint. */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | LocalDate
  | LocalTime
  | ZonedTime
  | LocalDateTime
  | ZonedDateTime
  | Duration
  | Point
  | Vector
  | Node
  | Relationship
  | Path
  | Value[]
  | { [key: string]: Value };

/** A row: the values of the columns by their names. */
export type Row = Record<string, any>;

/** The values that a parameter may be. A whole number is an INTEGER, any other a FLOAT. */
export type Parameter =
  | null
  | undefined
  | boolean
  | number
  | bigint
  | string
  | Date
  | ArrayBufferView
  | ArrayBuffer
  | SharedArrayBuffer
  | Float
  | LocalDate
  | LocalTime
  | ZonedTime
  | LocalDateTime
  | ZonedDateTime
  | Duration
  | Point
  | Vector
  | readonly Parameter[]
  | ReadonlySet<Parameter>
  | ReadonlyMap<string, Parameter>
  | { readonly [key: string]: Parameter };

/** Parameters of a statement, by name. Tables are rows: lists of maps. */
export type Parameters =
  | { readonly [name: string]: Parameter | Result | ArrowTable | ArrowLike }
  | ReadonlyMap<string, Parameter | Result | ArrowTable | ArrowLike>;

/** A table or record batch of the package apache-arrow. */
export interface ArrowLike {
  readonly numRows: number;
  readonly schema: { readonly fields: readonly unknown[] };
}

/** Rows that become nodes or relationships: Arrow IPC bytes, a table, a result, columns, or rows. */
export type Table =
  | Uint8Array
  | ArrowTable
  | ArrowLike
  | Result
  | { readonly [column: string]: readonly Parameter[] | ArrayBufferView }
  | readonly { readonly [column: string]: Parameter }[];

/** Settings of `open`. */
export interface Settings {
  /** 'full': a commit returns once it is on disk; 'async': at once, on disk at most 50 ms later. */
  durability?: 'full' | 'async';
  /** Bytes for the graph; above it, what is on disk is read again. Default: half of the machine's. */
  memoryLimit?: number;
  /** Milliseconds for which the past can be read. Default: none. */
  history?: number;
  /** Bytes of log after which a checkpoint is written. Default: 256 MiB. */
  checkpointBytes?: number;
  /** Folder below which LOAD and COPY FROM may read files. Default: the current one. */
  importFolder?: string;
  /** Folder below which COPY TO may write files. Default: the import folder. */
  exportFolder?: string;
  /**
   * False: no other process may use the database, and this one not that of another. Default: several
   * may open a folder; the first has the database, and the others ask it.
   */
  share?: boolean;
  /** True: every INTEGER of a result is a bigint. */
  bigint?: boolean;
}

/** Settings of a session; those that are not given stay as they are. */
export interface Limits {
  /** Milliseconds after which a statement or transaction is given up. */
  timeout?: number;
  /** Most bytes that a statement may use. */
  memory?: number;
  isolation?: 'snapshot' | 'serializable';
  /** Milliseconds that a statement waits for another transaction that has written the same. */
  writeWait?: number;
  /** True: statements that change anything are refused. */
  readOnly?: boolean;
  /** True: every INTEGER of a result is a bigint. */
  bigint?: boolean;
}

/** Options of one statement. */
export interface QueryOptions {
  /** Ends the statement, which has then changed nothing; the error is the signal's reason. */
  signal?: AbortSignal;
  /** Milliseconds after which it is given up. */
  timeout?: number;
  /** True: every INTEGER of the result is a bigint. */
  bigint?: boolean;
}

/** Options of `write` and `read`. */
export interface WriteOptions {
  signal?: AbortSignal;
  /** Milliseconds after which a transaction is given up. */
  timeout?: number;
  /** Tries at most. Default: 30. */
  tries?: number;
}

/** Opens a database: in a folder, made if there is none; without a path in memory. */
export function open(path?: string | null, settings?: Settings): Promise<Database>;
/** As `open`, at once. */
export function openSync(path?: string | null, settings?: Settings): Database;
/** A table as a parameter: of Arrow IPC bytes, or of a table of apache-arrow. */
export function fromArrow(table: Uint8Array | ArrayBuffer | ArrowLike | ArrowTable): ArrowTable;

/** The settings that statements run in: limits of time and memory, isolation. */
export class Session {
  protected constructor();
  /** The same session with other settings. */
  session(limits?: Limits): Session;
  /** Runs a statement as a transaction of its own; resolves once it is committed. */
  query<R extends Row = Row>(
    text: string,
    parameters?: Parameters | null,
    options?: QueryOptions,
  ): Promise<Result<R>>;
  /** As `query`, while the JavaScript thread waits: for short statements. */
  querySync<R extends Row = Row>(
    text: string,
    parameters?: Parameters | null,
    options?: Omit<QueryOptions, 'signal'>,
  ): Result<R>;
  /** Hands rows on while the statement runs: for results that are larger than memory. */
  stream<R extends Row = Row>(
    text: string,
    parameters?: Parameters | null,
    options?: QueryOptions,
  ): Stream<R>;
  /** Begins a transaction of several statements. It never waits. */
  begin(options?: { timeout?: number }): Transaction;
  /** Calls `work` and commits; again as long as it loses conflicts. */
  write<T>(work: (tx: Transaction) => T | Promise<T>, options?: WriteOptions): Promise<T>;
  /** As `write`, for a transaction that only reads: everything in it sees the same state. */
  read<T>(work: (tx: Transaction) => T | Promise<T>, options?: WriteOptions): Promise<T>;
  /** Graph algorithms as methods: `db.algo.pageRank({ nodes: 'Account' })`. */
  readonly algo: Algorithms;
}

/** An open database: a session with default settings. */
export class Database extends Session {
  private constructor();
  /** The folder of the database; null in memory. */
  readonly path: string | null;
  /**
   * Whether this process has the database open itself; false where it asks another one. It can
   * become true when that one ends. Throws once the database is closed.
   */
  readonly isOwner: boolean;
  /** Whether it was closed. */
  readonly closed: boolean;
  /** Waits for statements that run, ends what else is open, writes a checkpoint and closes. */
  close(): Promise<void>;
  /** As `close`, while the JavaScript thread waits. */
  closeSync(): void;
  /** Writes a checkpoint: the log before it is not needed any more. */
  checkpoint(): Promise<void>;
  /** Copies the database into a new folder while it is used. */
  backup(path: string): Promise<void>;
  /** Begins a load of tables that come in together, as one commit. */
  load(options?: LoadOptions): Load;
  /** Makes a node of each row of a table, as one commit. */
  createNodes(
    labels: string | readonly string[],
    table: Table,
    options?: LoadOptions,
  ): Promise<Report>;
  /** Makes a relationship of each row of a table, as one commit. */
  createRelationships(
    type: string,
    table: Table,
    options: Ends & { badRows?: number },
  ): Promise<Report>;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Several statements that are committed together or not at all. */
export class Transaction {
  private constructor();
  /** Runs a statement. Those that are not awaited run one after the other. */
  query<R extends Row = Row>(
    text: string,
    parameters?: Parameters | null,
    options?: Omit<QueryOptions, 'timeout'>,
  ): Promise<Result<R>>;
  querySync<R extends Row = Row>(
    text: string,
    parameters?: Parameters | null,
    options?: { bigint?: boolean },
  ): Result<R>;
  /** Commits, and resolves to the commit timestamp. */
  commit(): Promise<number>;
  commitSync(): number;
  /** Undoes everything. Does nothing if it is not open any more. */
  rollback(): Promise<void>;
  rollbackSync(): void;
  /** Whether it is neither committed nor rolled back. */
  readonly open: boolean;
  /** Rolls back, unless it was committed. */
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The summary of a statement: all there is beside its rows. */
export interface Summary {
  /** Counts of changes by name, those that are not 0. */
  readonly counters: Readonly<Record<string, number>>;
  /** The kind of statement, by the changes it may make. */
  readonly kind: 'read' | 'write' | 'read write' | 'schema';
  /** The commit timestamp: of what was committed, or of the state that was read. */
  readonly timestamp: number;
  /** The plan as text, for statements that begin with EXPLAIN or PROFILE. */
  readonly plan: string | null;
  /** Remarks on parts that are probably not meant as they are written. */
  readonly notifications: readonly string[];
}

/** The whole result of a statement, held as columns. */
export class Result<R extends Row = Row> implements Summary {
  private constructor();
  /** Number of rows. */
  readonly length: number;
  /** Names of the columns. */
  readonly columns: readonly string[];
  readonly counters: Readonly<Record<string, number>>;
  readonly kind: Summary['kind'];
  readonly timestamp: number;
  readonly plan: string | null;
  readonly notifications: readonly string[];
  [Symbol.iterator](): IterableIterator<R>;
  [Symbol.asyncIterator](): AsyncIterableIterator<R>;
  /** All rows. */
  toArray(): R[];
  /** All rows, as arrays in the order of the columns. */
  tuples(): any[][];
  /** The row of a number, from the end if it is negative; undefined if there is none. */
  at(row: number): R | undefined;
  /** The only row; an error if there is another number of them. */
  one(): R;
  /** The value in the only row and column; an error if there is more, or none. */
  value<T = any>(): T;
  /** The values of one column, by its name or number; without either, of the first. */
  values<T = any>(column?: string | number): T[];
  /** All nodes and relationships of the result, each once. */
  graph(): { nodes: Node[]; relationships: Relationship[] };
  /** The result as an Arrow IPC stream, which `tableFromIPC` reads. */
  toArrow(): Promise<Uint8Array>;
  /** As `toArrow`, while the JavaScript thread waits. */
  toArrowSync(): Uint8Array;
}

/** Rows of a statement that runs on a thread, a few batches ahead of who reads them. */
export class Stream<R extends Row = Row> implements AsyncIterableIterator<R> {
  private constructor();
  /** Names of the columns, once a row was read. */
  readonly columns: readonly string[];
  /** The summary, once the last row was read. */
  readonly summary: Summary | null;
  next(): Promise<IteratorResult<R, undefined>>;
  return(value?: any): Promise<IteratorResult<R, any>>;
  [Symbol.asyncIterator](): this;
  /** The rows batch by batch. */
  batches(): AsyncIterableIterator<R[]>;
  /** Parts of one Arrow IPC stream, which `RecordBatchReader.from` reads. */
  arrow(): AsyncIterableIterator<Uint8Array>;
  /** Ends the statement. */
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Settings of an algorithm; `key` names the property by which nodes are known in the result. */
export interface AlgorithmSettings {
  key?: string;
  nodes?: any;
  relationships?: any;
  orientation?: string;
  weight?: string;
  defaultWeight?: number;
  pairs?: any;
  [setting: string]: any;
}

/** The algorithms, or those of a group, by their names in `CALL algo.list('')`. */
export interface Algorithms {
  (settings?: AlgorithmSettings, options?: QueryOptions): Promise<Result>;
  readonly [name: string]: Algorithms;
}

/** Options of a load. */
export interface LoadOptions {
  /** Unique constraints that are made with it, as 'Person.id'. */
  unique?: readonly string[];
  /** Leave out up to so many rows that cannot come in, and report them. */
  badRows?: number;
}

/** The ends of the relationships of a table. */
export interface Ends {
  /** Column that names the node which a relationship leaves. */
  src: string;
  /** Column that names the node which it leads to. */
  dst: string;
  /** Label of the nodes at both ends. */
  label?: string;
  /** Property that the columns have the values of. Default: the unique one of the label. */
  key?: string;
  srcLabel?: string;
  srcKey?: string;
  dstLabel?: string;
  dstKey?: string;
}

/** The report of a load. */
export interface Report {
  readonly nodes: number;
  readonly relationships: number;
  readonly properties: number;
  /** Relationships that were there already. */
  readonly duplicates: number;
  readonly timestamp: number;
  /** Rows that were left out. */
  readonly rejected: readonly { table: number; row: number; reason: string }[];
}

/** Tables that come in together, as one commit. */
export class Load {
  private constructor();
  nodes(labels: string | readonly string[], table: Table): this;
  relationships(type: string, table: Table, ends: Ends): this;
  commit(): Promise<Report>;
}

/** Arrow IPC bytes that are a table: see `fromArrow`. */
export class ArrowTable {
  private constructor();
  readonly bytes: Uint8Array;
}

/** A node, as it was when the statement read it. */
export class Node<P extends Row = Row> {
  private constructor();
  /** Its number, as `id()` in Cypher. */
  readonly id: number;
  /** Its identity as text, as `elementId()` in Cypher. */
  readonly elementId: string;
  readonly labels: readonly string[];
  readonly properties: P;
}

/** A relationship, as it was when the statement read it. */
export class Relationship<P extends Row = Row> {
  private constructor();
  readonly id: number;
  readonly elementId: string;
  readonly type: string;
  /** Number of the node that it leaves. */
  readonly startId: number;
  /** Number of the node that it leads to. */
  readonly endId: number;
  readonly properties: P;
}

/** A path: its nodes in order, and the relationships between them. */
export class Path {
  private constructor();
  readonly nodes: readonly Node[];
  readonly relationships: readonly Relationship[];
  /** Number of relationships. */
  readonly length: number;
}

/** Two or three coordinates in a reference system: 7203, 9157, 4326 or 4979. */
export class Point {
  constructor(x: number, y: number, z?: number | null, srid?: number);
  readonly x: number;
  readonly y: number;
  readonly z: number | null;
  readonly srid: number;
}

/** Numbers of one type: 1 to 4,096 of them. */
export class Vector {
  constructor(
    coordinates: Int8Array | Int16Array | Int32Array | BigInt64Array | Float32Array | Float64Array,
  );
  readonly coordinates:
    | Int8Array
    | Int16Array
    | Int32Array
    | BigInt64Array
    | Float32Array
    | Float64Array;
  /** INTEGER8, INTEGER16, INTEGER32, INTEGER, FLOAT32 or FLOAT. */
  readonly coordinateType: string;
  /** Number of coordinates. */
  readonly dimension: number;
}

/** A number that is a FLOAT as a parameter although it is whole. */
export class Float {
  constructor(value: number);
  readonly value: number;
}

/** DATE. */
export class LocalDate {
  constructor(year: number, month: number, day: number);
  static parse(text: string): LocalDate;
  readonly year: number;
  readonly month: number;
  readonly day: number;
  /** Days since 1970-01-01. */
  readonly epochDay: number;
  toString(): string;
  toJSON(): string;
}

/** LOCAL TIME. */
export class LocalTime {
  constructor(hour: number, minute: number, second?: number, nanosecond?: number);
  static parse(text: string): LocalTime;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  /** Nanoseconds of the second. */
  readonly nanosecond: number;
  readonly nanosecondOfDay: number;
  toString(): string;
  toJSON(): string;
}

/** ZONED TIME; the offset is in seconds east of UTC. */
export class ZonedTime {
  constructor(time: LocalTime, offset: number);
  static parse(text: string): ZonedTime;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly nanosecond: number;
  readonly nanosecondOfDay: number;
  readonly offset: number;
  toString(): string;
  toJSON(): string;
}

/** LOCAL DATETIME. */
export class LocalDateTime {
  constructor(
    year: number,
    month: number,
    day: number,
    hour?: number,
    minute?: number,
    second?: number,
    nanosecond?: number,
  );
  static parse(text: string): LocalDateTime;
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly nanosecond: number;
  readonly epochDay: number;
  readonly nanosecondOfDay: number;
  toString(): string;
  toJSON(): string;
}

/** ZONED DATETIME: a moment; the offset is in seconds east of UTC. A Date becomes one, in UTC. */
export class ZonedDateTime {
  constructor(local: LocalDateTime, offset: number, zone?: string | null);
  static parse(text: string): ZonedDateTime;
  static fromDate(date: Date): ZonedDateTime;
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly nanosecond: number;
  readonly epochDay: number;
  readonly nanosecondOfDay: number;
  readonly offset: number;
  /** Name of the time zone, if it has one. */
  readonly zone: string | null;
  readonly epochNanoseconds: bigint;
  readonly epochMilliseconds: number;
  /** The moment, rounded down to milliseconds. */
  toDate(): Date;
  toString(): string;
  toJSON(): string;
}

/** DURATION: parts of which none has a fixed number of the others. */
export class Duration {
  constructor(parts?: {
    months?: number | bigint;
    days?: number | bigint;
    seconds?: number | bigint;
    nanoseconds?: number;
  });
  static parse(text: string): Duration;
  readonly months: number | bigint;
  readonly days: number | bigint;
  readonly seconds: number | bigint;
  readonly nanoseconds: number;
  toString(): string;
  toJSON(): string;
}

/**
 * Something that Telar refused or could not do. Whatever failed has changed nothing, but for
 * `UnknownOutcomeError` and `ResultLostError`.
 */
export class TelarError extends Error {
  /** The code that drivers of Neo4j know. */
  readonly code: string | null;
  /** The fault in one word. */
  readonly detail: string | null;
  /** Line in the text of the statement, from 1. */
  readonly line: number | null;
  /** Column in characters, from 1. */
  readonly column: number | null;
  /** Bytes of the text before it. */
  readonly offset: number | null;
}
/** The statement, or what it was given, is wrong. */
export class StatementError extends TelarError {}
/** The text of the statement is wrong; the message shows where. */
export class CypherSyntaxError extends StatementError {}
/** A constraint would be broken. */
export class ConstraintError extends StatementError {}
/** Another transaction was first: run it again. */
export class ConflictError extends TelarError {}
/** The statement was ended from outside. */
export class InterruptedError extends TelarError {}
/** The statement took longer than its time limit. */
export class TimeLimitError extends InterruptedError {}
/** The statement needed more memory than its limit. */
export class MemoryLimitError extends TelarError {}
/** The session only reads, and the statement writes. */
export class ReadOnlyError extends TelarError {}
/** The files of the database, or the disk. */
export class StorageError extends TelarError {}
/** Another process has the database open, and does not let this one in. */
export class LockedError extends StorageError {}
/** The process that has the database ended or hangs: nobody knows whether this was committed. */
export class UnknownOutcomeError extends StorageError {}
/** It was committed, and its rows are lost with the process that had the database. */
export class ResultLostError extends StorageError {}
/** The database, transaction or stream is closed. */
export class ClosedError extends TelarError {}
