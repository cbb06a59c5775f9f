import { BlockList, isIP } from 'node:net';
import { domainToASCII } from 'node:url';

/** True for a destination that is reached without a proxy. */
type Bypass = (host: string, port: number) => boolean;

interface Rule {
  /** Undefined for every port. */
  port: number | undefined;
  matches: (host: string) => boolean;
}

/**
 * This machine, link-local services such as cloud metadata, and Service and container names, which no proxy
 * outside can resolve.
 */
const ALWAYS_DIRECT: readonly Rule[] = [
  ...parseNoProxy(
    '*.localhost,127.0.0.0/8,::1,0.0.0.0,::,169.254.0.0/16,fe80::/10,svc,cluster.local,kubernetes.default',
  ),
  { port: undefined, matches: (host) => isIP(host) === 0 && !host.includes('.') },
];

/**
 * @param noProxy as in NO_PROXY: `*`, `example.com` and `.example.com` (with subdomains), `*.example.com` (only
 *   subdomains), addresses, CIDR ranges and `first-last`, separated by commas or spaces, each with an optional port.
 *   Names are not resolved, so ranges apply only to URLs with an address. Entries of another form are ignored.
 */
export function createBypass(noProxy: string): Bypass {
  const rules = [...ALWAYS_DIRECT, ...parseNoProxy(noProxy)];
  return (host, port) => {
    const name = normalized(host);
    return rules.some((rule) => (rule.port === undefined || rule.port === port) && rule.matches(name));
  };
}

function parseNoProxy(text: string): Rule[] {
  return text
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .flatMap((entry) => ruleOf(entry) ?? []);
}

function ruleOf(entry: string): Rule | undefined {
  // Some lists contain origins.
  const { host, port } = split(entry.replace(/^[a-z]+:\/\//i, ''));
  const matches = host === '*' ? () => true : (addressMatcher(host) ?? nameMatcher(host));
  return matches === undefined ? undefined : { port, matches };
}

/** Splits `host:port`, `[address]:port` and `range:port`. An IPv6 address needs brackets to have a port. */
function split(entry: string): { host: string; port: number | undefined } {
  const [, bracketed, suffix = ''] = /^\[([^\]]*)\](.*)$/.exec(entry) ?? [];
  if (bracketed !== undefined) {
    const [, range = '', port] = /^(\/\d+)?(?::(\d+))?$/.exec(suffix) ?? [];
    return { host: `${bracketed}${range}`, port: port === undefined ? undefined : Number(port) };
  }
  const [, host, port] = /^([^:]+):(\d+)$/.exec(entry) ?? [];
  return host === undefined ? { host: entry, port: undefined } : { host, port: Number(port) };
}

function addressMatcher(text: string): Rule['matches'] | undefined {
  const list = new BlockList();
  const [first = '', length] = text.split('/');
  const family = familyOf(first);
  try {
    if (length !== undefined) {
      if (family === undefined || !/^\d{1,3}$/.test(length)) return undefined;
      list.addSubnet(first, Number(length), family);
    } else if (family !== undefined) {
      list.addAddress(first, family);
    } else {
      const [start = '', end = ''] = text.split('-');
      const startFamily = familyOf(start);
      if (startFamily === undefined || familyOf(end) !== startFamily) return undefined;
      list.addRange(start, end, startFamily);
    }
  } catch {
    return undefined;
  }
  return (host) => {
    const hostFamily = familyOf(host);
    return hostFamily !== undefined && list.check(host, hostFamily);
  };
}

function nameMatcher(text: string): Rule['matches'] | undefined {
  const isWildcard = text.startsWith('*.');
  const name = normalized(text.replace(/^\*?\./, ''));
  if (name === '' || /[*/]/.test(name) || isIP(name) !== 0) return undefined;
  return (host) => (!isWildcard && host === name) || (isIP(host) === 0 && host.endsWith(`.${name}`));
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const family = isIP(address);
  if (family === 0) return undefined;
  return family === 4 ? 'ipv4' : 'ipv6';
}

/** In lower case, without brackets and the final dot of a complete name. */
function normalized(host: string): string {
  const plain = host
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/(.)\.$/, '$1')
    .toLowerCase();
  return isIP(plain) === 0 ? domainToASCII(plain) || plain : plain;
}
