import { createServer, type AddressInfo } from 'node:net';

/**
 * A free loopback port for programs that cannot choose one themselves. Another program can take it first, so callers
 * retry with another port when it is in use.
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
