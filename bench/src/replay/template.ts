/** A recorded statement with parts of its result. */
export interface SeenStatement {
  /** Prepared statement name. */
  name?: string;
  text: string;
  values: readonly unknown[];
  /** The `seq` of its only row, if any. */
  seq?: number;
}

/** A statement value, in JSON; `blank` is filled in for each request. */
export type ValueTemplate =
  | { is: 'value'; value: unknown }
  | { is: 'bytes'; base64: string }
  | { is: 'time'; iso: string }
  | { is: 'text'; parts: TextPart[] }
  | { is: 'seq' }
  | { is: 'list'; items: ValueTemplate[] };

type TextPart = { text: string } | { blank: string };

export interface StatementTemplate {
  name?: string;
  text: string;
  values: ValueTemplate[];
  /** Whether it returned a row with a `seq`: without a row it stored nothing, because other rows were locked. */
  stores?: true;
}

/** Blank values. Ids that are new for each request are blanks too: `new-0`, `new-1`, … */
export type Filling = Record<string, string>;

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

/**
 * Creates a template from one request's statements. `known` maps blank names to request values; each occurrence becomes
 * a blank. Other UUIDs become new ids. A number that equals the `seq` of an earlier result becomes a reference to it.
 */
export function templateOf(seen: readonly SeenStatement[], known: Filling): StatementTemplate[] {
  const names = new Map(Object.entries(known).map(([name, value]) => [value, name]));
  let seq: number | undefined;

  function ofText(value: string): ValueTemplate {
    if (UUID.test(value) && !names.has(value)) names.set(value, `new-${countNew(names)}`);
    const parts = split(value, names);
    return parts.some((part) => 'blank' in part) ? { is: 'text', parts } : { is: 'value', value };
  }

  const ofScalar = (value: string | number): ValueTemplate => {
    if (typeof value === 'string') return ofText(value);
    return value === seq ? { is: 'seq' } : { is: 'value', value };
  };

  return seen.map((statement) => {
    const { values, seq: answered, ...sent } = statement;
    const stores = answered === undefined ? {} : { stores: true as const };
    const template = { ...sent, ...stores, values: values.map((value) => ofValue(value, ofScalar)) };
    seq = answered ?? seq;
    return template;
  });
}

/** Statements without blanks, for a constant request. */
export function verbatim(seen: readonly SeenStatement[]): StatementTemplate[] {
  return seen.map(({ values, seq: _seq, ...sent }) => ({
    ...sent,
    values: values.map((value) => ofValue(value, (scalar) => ({ is: 'value', value: scalar }))),
  }));
}

function ofValue(value: unknown, ofScalar: (value: string | number) => ValueTemplate): ValueTemplate {
  if (typeof value === 'string' || typeof value === 'number') return ofScalar(value);
  if (value instanceof Uint8Array) return { is: 'bytes', base64: Buffer.from(value).toString('base64') };
  if (value instanceof Date) return { is: 'time', iso: value.toISOString() };
  if (Array.isArray(value)) return { is: 'list', items: value.map((item) => ofValue(item, ofScalar)) };
  return { is: 'value', value: value ?? null };
}

function countNew(names: ReadonlyMap<string, string>): number {
  return [...names.values()].filter((name) => name.startsWith('new-')).length;
}

/** Splits a text at blank values. */
function split(value: string, names: ReadonlyMap<string, string>): TextPart[] {
  for (const [found, blank] of names) {
    const at = value.indexOf(found);
    if (at < 0) continue;
    return [...split(value.slice(0, at), names), { blank }, ...split(value.slice(at + found.length), names)];
  }
  return value === '' ? [] : [{ text: value }];
}

/** A statement's values for one request. @throws Error if a blank has no value */
export function fill(templates: readonly ValueTemplate[], filling: Filling, seq: number | undefined): unknown[] {
  return templates.map((template) => fillOne(template, filling, seq));
}

function fillOne(template: ValueTemplate, filling: Filling, seq: number | undefined): unknown {
  switch (template.is) {
    case 'value':
      return template.value;
    case 'bytes':
      return Buffer.from(template.base64, 'base64');
    case 'time':
      return new Date(template.iso);
    case 'text':
      return template.parts
        .map((part) => ('text' in part ? part.text : given(filling[part.blank], part.blank)))
        .join('');
    case 'seq':
      return given(seq, 'seq');
    case 'list':
      return template.items.map((item) => fillOne(item, filling, seq));
  }
}

function given<Value>(value: Value | undefined, name: string): Value {
  if (value === undefined) throw new Error(`missing value for the blank ${name}`);
  return value;
}

/** New ids in the statements, by name. */
export function newIdsOf(statements: readonly StatementTemplate[]): string[] {
  const blanks = (template: ValueTemplate): string[] => {
    if (template.is === 'list') return template.items.flatMap(blanks);
    if (template.is !== 'text') return [];
    return template.parts.flatMap((part) => ('blank' in part ? [part.blank] : []));
  };
  const all = statements.flatMap(({ values }) => values.flatMap(blanks));
  return [...new Set(all)].filter((name) => name.startsWith('new-'));
}
