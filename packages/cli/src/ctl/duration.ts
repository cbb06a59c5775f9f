import { InvalidArgumentError } from 'commander';

const SECONDS_PER_UNIT: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Reads a duration in seconds. @throws InvalidArgumentError */
export function durationS(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const factor = SECONDS_PER_UNIT[unit];
  if (amount === undefined || factor === undefined) {
    throw new InvalidArgumentError('It must be a duration such as 90s, 5m, 2h or 1d.');
  }
  return Number(amount) * factor;
}
