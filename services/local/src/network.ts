import { isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { LocalError } from '@uswarm/dev-servers';

/** Where local mode listens, and the host of its URLs. */
export interface Network {
  /** The first one is always this machine's own. */
  addresses: readonly [string, ...string[]];
  urlHost: string;
  /** Other machines can reach it. */
  shared: boolean;
}

const LOOPBACK = '127.0.0.1';

/** The addresses by which other machines reach this one; IPv4 first. */
function machineAddresses(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  const usable = addresses.filter(({ internal, scopeid }) => !internal && (scopeid ?? 0) === 0);
  return usable.map(({ address }) => address).toSorted((a, b) => isIP(a) - isIP(b));
}

/**
 * Reads the address in `--host`. Loopback is always included, because this checkout's commands, emulators and `adb
 * reverse` use it.
 * @throws LocalError
 */
export function readNetwork(host: string | undefined, known = machineAddresses()): Network {
  const address = host?.trim().replace(/^\[(.*)\]$/, '$1');
  if (address === undefined || /^(localhost|127\.0\.0\.1)$/i.test(address)) {
    return { addresses: [LOOPBACK], urlHost: LOOPBACK, shared: false };
  }
  if (address === '0.0.0.0' || address === '::') {
    return { addresses: [address], urlHost: inUrl(known[0] ?? LOOPBACK), shared: true };
  }
  if (address === '::1') return { addresses: [LOOPBACK, address], urlHost: inUrl(address), shared: false };
  if (known.includes(address)) return { addresses: [LOOPBACK, address], urlHost: inUrl(address), shared: true };
  const own = known.length === 0 ? '' : ` (${known.join(', ')})`;
  throw new LocalError(
    `--host must be an address of this machine${own}, or 0.0.0.0 for all of them; ${JSON.stringify(host)} is neither.`,
  );
}

const inUrl = (address: string): string => (isIPv6(address) ? `[${address}]` : address);
