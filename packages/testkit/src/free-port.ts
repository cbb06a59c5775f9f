import { createServer, type AddressInfo } from 'node:net';

/**
 * A loopback port that is free now, for programs that cannot choose one themselves. Somebody else
 * may take it before they do, so a caller that sees "in use" asks again.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
