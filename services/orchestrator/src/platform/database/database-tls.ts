/** True for loopback, a Unix socket, or a name that only the cluster's or the machine's DNS resolves. */
function isNearby(host: string): boolean {
  return (
    host === '' ||
    host === 'localhost' ||
    host === '[::1]' ||
    /^127(\.\d+){3}$/.test(host) ||
    // `/var/run/postgresql`: paths in a host are percent-encoded.
    /^%2f/i.test(host) ||
    /\.svc(\.|$)/.test(host) ||
    !/[.:]/.test(host)
  );
}

/**
 * Returns a warning if the connection to a database outside the cluster does not require a verified certificate. The
 * text contains neither user nor password.
 */
export function databaseTlsWarning(databaseUrl: string): string | undefined {
  if (!URL.canParse(databaseUrl)) return undefined;
  const { hostname, searchParams } = new URL(databaseUrl);
  const socket = searchParams.get('host')?.startsWith('/') ?? false;
  const mode = searchParams.get('sslmode') ?? 'unset';
  if (socket || isNearby(hostname) || mode === 'verify-full') return undefined;
  return `DATABASE_URL has sslmode ${mode} for a host outside the cluster; use sslmode=verify-full`;
}
