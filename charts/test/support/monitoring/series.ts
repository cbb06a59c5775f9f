import type { AlertScenario } from '@uswarm/testkit';

/** Series by name and labels, with one value per minute. */
export type Figures = Record<string, number[]>;

const MINUTES = 90;
/** The minute at which faults begin. */
const FAULT_AT = 50;

/** A constant gauge. */
export const always = (value: number, minutes = MINUTES): number[] => Array<number>(minutes + 1).fill(value);

/** A gauge that changes when the fault begins, for `minutes`. */
export function becomes(before: number, after: number, lasting = MINUTES): number[] {
  return always(0).map((_, minute) => (minute >= FAULT_AT && minute < FAULT_AT + lasting ? after : before));
}

/** A counter with its increase per minute before and during the fault. */
export function rises(perMinute: number, fromFault = perMinute, minutes = MINUTES): number[] {
  let value = 0;
  return always(0, minutes).map((_, minute) => {
    if (minute > 0) value += minute > FAULT_AT ? fromFault : perMinute;
    return value;
  });
}

/** A counter that is always 0. */
export const none = always(0);

/** A series without values. */
export const absent: number[] = [];

/** Histogram buckets and count; `fast` of ten observations are within `le`, before and during the fault. */
export function histogram(
  name: string,
  labels: string,
  le: string,
  perMinute: number,
  fast: [number, number],
): Figures {
  const counted = labels === '' ? '' : `{${labels}}`;
  const bucket = (bound: string): string => `${name}_bucket{${labels === '' ? '' : `${labels},`}le="${bound}"}`;
  return {
    [`${name}_count${counted}`]: rises(perMinute),
    [bucket(le)]: rises((perMinute * fast[0]) / 10, (perMinute * fast[1]) / 10),
    [bucket('+Inf')]: rises(perMinute),
  };
}

/** The healthy series with `changes`. */
export function scenario(base: Figures, changes: Figures, minutes = MINUTES): AlertScenario {
  const all = Object.entries({ ...base, ...changes }).filter(([, values]) => values.length > 0);
  return { minutes, series: all.map(([series, values]) => ({ series, values: values.join(' ') })) };
}
