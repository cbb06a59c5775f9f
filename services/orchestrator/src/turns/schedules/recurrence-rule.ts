/** Why a recurrence cannot be used, in words that let its writer repair it. */
export class InvalidRecurrence extends Error {
  override name = 'InvalidRecurrence';
}

export interface Rule {
  /** Without its end time. */
  text: string;
  /** True if it counts hours or minutes instead of days. */
  isByTime: boolean;
  /** A time without its zone. */
  until: string | undefined;
  untilIsUtc: boolean;
}

type Check = (value: string) => boolean;

const EXAMPLE = 'such as FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR';
const FREQUENCIES = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY'];
const WEEKDAYS = '(MO|TU|WE|TH|FR|SA|SU)';
const MOST_COUNT = 10_000;

const between =
  (least: number, most: number): Check =>
  (value) =>
    /^[+-]?\d{1,5}$/.test(value) && Number(value) >= least && Number(value) <= most;
/** Also counted from the end. */
const within =
  (most: number): Check =>
  (value) =>
    between(-most, most)(value) && Number(value) !== 0;
const matches =
  (pattern: RegExp): Check =>
  (value) =>
    pattern.test(value);

/** Parts of RFC 5545, section 3.3.10. The library accepts values outside these ranges, and ignores unknown parts. */
const PARTS: Record<string, { check: Check; values: string; isList?: true }> = {
  FREQ: { check: (value) => FREQUENCIES.includes(value), values: FREQUENCIES.join(', ') },
  INTERVAL: { check: between(1, 10_000), values: '1 to 10000' },
  COUNT: { check: between(1, MOST_COUNT), values: `1 to ${MOST_COUNT}` },
  UNTIL: { check: matches(/^\d{8}(T\d{6}Z?)?$/), values: 'a time such as 20261231T225959Z' },
  BYDAY: {
    check: matches(new RegExp(`^([+-]?([1-9]|[1-4]\\d|5[0-3]))?${WEEKDAYS}$`)),
    values: 'MO to SU',
    isList: true,
  },
  BYMONTH: { check: between(1, 12), values: '1 to 12', isList: true },
  BYMONTHDAY: { check: within(31), values: '1 to 31, or -1 for the last day', isList: true },
  BYYEARDAY: { check: within(366), values: '1 to 366', isList: true },
  BYWEEKNO: { check: within(53), values: '1 to 53', isList: true },
  BYSETPOS: { check: within(366), values: '1 to 366, or -1 for the last', isList: true },
  BYHOUR: { check: between(0, 23), values: '0 to 23', isList: true },
  BYMINUTE: { check: between(0, 59), values: '0 to 59', isList: true },
  WKST: { check: matches(new RegExp(`^${WEEKDAYS}$`)), values: 'MO to SU' },
};
const PARTS_BY_TIME = ['FREQ', 'INTERVAL', 'COUNT', 'UNTIL', 'BYDAY', 'BYHOUR', 'BYMINUTE', 'WKST'];

const invalid = (message: string): InvalidRecurrence => new InvalidRecurrence(message);

function partsOf(rrule: string): Map<string, string> {
  const parts = new Map<string, string>();
  const text = rrule
    .trim()
    .toUpperCase()
    .replace(/^RRULE:/, '');
  for (const part of text.split(';').filter((one) => one !== '')) {
    const [key = '', value = '', ...rest] = part.split('=');
    const known = Object.hasOwn(PARTS, key) ? PARTS[key] : undefined;
    if (known === undefined || rest.length > 0)
      throw invalid(
        `“${part.slice(0, 60)}” is not a rule part. Rules have ${Object.keys(PARTS).join(', ')}, ${EXAMPLE}.`,
      );
    if (parts.has(key)) throw invalid(`${key} occurs twice. Use one list, ${EXAMPLE}.`);
    const values = known.isList === true ? value.split(',') : [value];
    if (!values.every(known.check)) throw invalid(`${key} is not valid. Use ${known.values}.`);
    parts.set(key, value);
  }
  if (!parts.has('FREQ')) throw invalid(`The rule needs a FREQ, ${EXAMPLE}.`);
  return parts;
}

/** Combinations that RFC 5545 forbids. */
function checkParts(parts: ReadonlyMap<string, string>): void {
  const frequency = parts.get('FREQ') ?? '';
  const needs = (key: string, ...frequencies: string[]): void => {
    if (parts.has(key) && !frequencies.includes(frequency))
      throw invalid(`${key} needs the FREQ ${frequencies.join(' or ')}.`);
  };
  if (parts.has('COUNT') && parts.has('UNTIL')) throw invalid('COUNT and UNTIL exclude each other. Use one of them.');
  needs('BYWEEKNO', 'YEARLY');
  needs('BYYEARDAY', 'YEARLY');
  needs('BYMONTHDAY', 'YEARLY', 'MONTHLY', 'DAILY');
  if (/\d/.test(parts.get('BYDAY') ?? '') && !['YEARLY', 'MONTHLY'].includes(frequency))
    throw invalid('BYDAY with a number needs the FREQ MONTHLY or YEARLY.');
  if (parts.has('BYSETPOS') && ![...parts.keys()].some((key) => key.startsWith('BY') && key !== 'BYSETPOS'))
    throw invalid('BYSETPOS needs another part that begins with BY, such as BYDAY.');
}

/** As minutes, because the library passes over a repeated hour of a rule by hours. */
function byMinutes(parts: ReadonlyMap<string, string>): Map<string, string> {
  const other = [...parts.keys()].find((key) => !PARTS_BY_TIME.includes(key));
  if (other !== undefined)
    throw invalid(`${other} needs the FREQ DAILY, WEEKLY, MONTHLY or YEARLY, with BYHOUR for several hours.`);
  if (parts.get('FREQ') === 'MINUTELY') return new Map(parts);
  const hours = Number(parts.get('INTERVAL') ?? 1);
  if (hours > 1 && parts.has('BYMINUTE'))
    throw invalid('FREQ=HOURLY with an INTERVAL takes the minute from the start. Leave BYMINUTE out.');
  const minutes = parts.has('BYMINUTE') ? 1 : hours * 60;
  return new Map([...parts, ['FREQ', 'MINUTELY'], ['INTERVAL', String(minutes)]]);
}

function endIn(parts: ReadonlyMap<string, string>): Pick<Rule, 'until' | 'untilIsUtc'> {
  const end = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?$/.exec(parts.get('UNTIL') ?? '');
  if (end === null) return { until: undefined, untilIsUtc: false };
  const [, year, month, day, hour = '23', minute = '59', second = '59', utc = ''] = end;
  const until = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  if (!isLocalTime(until)) throw invalid(`UNTIL is not a time: ${until}.`);
  return { until, untilIsUtc: utc === 'Z' };
}

/** @throws InvalidRecurrence */
export function parseRule(rrule: string): Rule {
  const given = partsOf(rrule);
  checkParts(given);
  const isByTime = ['HOURLY', 'MINUTELY'].includes(given.get('FREQ') ?? '');
  const parts = isByTime ? byMinutes(given) : given;
  const text = [...parts].flatMap(([key, value]) => (key === 'UNTIL' ? [] : [`${key}=${value}`])).join(';');
  return { text, isByTime, ...endIn(given) };
}

/** @param text such as `2026-12-04T08:00:00` */
export function isLocalTime(text: string): boolean {
  const time = Date.parse(`${text}Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().slice(0, 19) === text;
}
