/**
 * A resource quantity as an API server stores it: rounded up to thousandths, without a fraction, with the largest exact
 * suffix. Implements apimachinery's `resource.Quantity` independently of the tested code. Unlike a real server, it
 * removes a leading sign or zero.
 */
export function storedQuantity(text: string): string {
  const { number, suffix } = /^\+?(?<number>\d+\.?\d*|\.\d+)(?<suffix>\D*[+-]?\d*)$/.exec(text)?.groups ?? {};
  if (number === undefined || suffix === undefined) throw new Error(`not a quantity: ${text}`);
  const [whole = '', fraction = ''] = number.split('.');
  const digits = BigInt(`${whole}${fraction}` || '0');
  const powers = multiplier(suffix);
  // In units of 10^-15, so that every suffix and fraction in use gives an integer.
  const shift = 15 - fraction.length + powers.ten;
  const fine = shift >= 0 ? digits * powers.two * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
  const thousandths = fine / 10n ** 12n + (fine % 10n ** 12n > 0n ? 1n : 0n);
  return print(thousandths, powers.style);
}

const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
type Style = 'decimal' | 'binary' | 'scientific';

function multiplier(suffix: string): { ten: number; two: bigint; style: Style } {
  const binary = BINARY.indexOf(suffix);
  if (binary > 0) return { ten: 0, two: 1n << BigInt(10 * binary), style: 'binary' };
  const decimal = DECIMAL.indexOf(suffix);
  if (decimal >= 0) return { ten: (decimal - 3) * 3, two: 1n, style: 'decimal' };
  if (!/^[eE][+-]?\d+$/.test(suffix)) throw new Error(`not a quantity: invalid suffix ${suffix}`);
  return { ten: Number(suffix.slice(1)), two: 1n, style: 'scientific' };
}

function print(thousandths: bigint, style: Style): string {
  if (thousandths === 0n) return '0';
  const whole = thousandths / 1000n;
  if (style === 'binary' && whole >= 1024n && thousandths % 1000n === 0n) {
    const power = BINARY.findLastIndex((_, index) => whole % (1n << BigInt(10 * index)) === 0n);
    return `${whole >> BigInt(10 * power)}${BINARY[power] ?? ''}`;
  }
  const power =
    [6, 5, 4, 3, 2, 1, 0, -1].find((candidate) => thousandths % 1000n ** BigInt(candidate + 1) === 0n) ?? -1;
  const number = thousandths / 1000n ** BigInt(power + 1);
  if (style === 'scientific') return power === 0 ? `${number}` : `${number}e${power * 3}`;
  return `${number}${DECIMAL[power + 3] ?? ''}`;
}
