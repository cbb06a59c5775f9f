// Parses and canonicalizes quantities as the API server does (resource.Quantity of apimachinery, rounded up to milli as
// in a ResourceList). A quantity that is not canonical would differ from the stored one on every reconcile.

interface Quantity {
  /** Thousandths, rounded up. */
  milli: bigint;
  format: 'decimal' | 'binary' | 'exponent';
}

const SYNTAX = /^\+?(?<whole>\d*)(?:\.(?<fraction>\d*))?(?<suffix>[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,2})?$/;
const DECIMAL_EXPONENT: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const DECIMAL_SUFFIX: Readonly<Record<number, string>> = {
  ...Object.fromEntries(Object.entries(DECIMAL_EXPONENT).map(([suffix, exponent]) => [exponent, suffix])),
  0: '',
};
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
/** The API server caps amounts above 2^63-1; they are rejected here. */
const MAX_MILLI = (2n ** 63n - 1n) * 1000n;

/** Undefined for an invalid or negative quantity, or one that is too large for the API server. */
export function parseQuantity(text: string): Quantity | undefined {
  const { whole = '', fraction = '', suffix = '' } = SYNTAX.exec(text)?.groups ?? {};
  if (whole + fraction === '') return undefined;
  const { factor, exponent, format } = scaleOf(suffix);
  const milli = scaled(BigInt(whole + fraction) * factor, exponent - fraction.length + 3);
  return milli > MAX_MILLI ? undefined : { milli, format };
}

function scaleOf(suffix: string): { factor: bigint; exponent: number; format: Quantity['format'] } {
  if (suffix.endsWith('i')) {
    return { factor: 1024n ** BigInt(BINARY_SUFFIXES.indexOf(suffix)), exponent: 0, format: 'binary' };
  }
  const exponent = suffix === '' ? 0 : DECIMAL_EXPONENT[suffix];
  if (exponent !== undefined) return { factor: 1n, exponent, format: 'decimal' };
  return { factor: 1n, exponent: Number(suffix.slice(1)), format: 'exponent' };
}

function scaled(value: bigint, exponent: number): bigint {
  if (exponent >= 0) return value * 10n ** BigInt(exponent);
  const divisor = 10n ** BigInt(-exponent);
  return (value + divisor - 1n) / divisor;
}

/** The quantity as the API server stores it. @throws RangeError for an invalid quantity */
export function canonicalQuantity(text: string): string {
  const quantity = parseQuantity(text);
  if (quantity === undefined) throw new RangeError('not a quantity');
  const { milli, format } = quantity;
  if (milli === 0n) return '0';
  if (format === 'binary' && milli >= 1_024_000n && milli % 1000n === 0n) {
    const { mantissa, times } = withoutFactor(milli / 1000n, 1024n);
    return `${mantissa}${BINARY_SUFFIXES[times] ?? ''}`;
  }
  const { mantissa, times } = withoutFactor(milli, 10n);
  const exponent = Math.floor((times - 3) / 3) * 3;
  const number = mantissa * 10n ** BigInt(times - 3 - exponent);
  if (format === 'exponent') return exponent === 0 ? `${number}` : `${number}e${exponent}`;
  return `${number}${DECIMAL_SUFFIX[exponent] ?? ''}`;
}

function withoutFactor(value: bigint, factor: bigint): { mantissa: bigint; times: number } {
  let mantissa = value;
  let times = 0;
  while (mantissa % factor === 0n) {
    mantissa /= factor;
    times += 1;
  }
  return { mantissa, times };
}

/** True if `left` is more than `right`. */
export function exceeds(left: string, right: string): boolean {
  return (parseQuantity(left)?.milli ?? 0n) > (parseQuantity(right)?.milli ?? 0n);
}
