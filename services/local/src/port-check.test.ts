import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { freePort, LocalError } from '@uswarm/dev-servers';
import { checkPortFree, listeningInodes } from './port-check.js';

it('checkPortFree accepts a free port', async () => {
  await expect(checkPortFree({ port: await freePort() })).resolves.toBeUndefined();
});

it('checkPortFree reports a used port with its holder and the setting for another port', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const check = checkPortFree({ port });
  await expect(check).rejects.toBeInstanceOf(LocalError);
  await expect(check).rejects.toThrow(
    new RegExp(`^Port ${port} is already in use \\(by .+, pid ${process.pid}\\)\\. Set USWARM_PORT to another one\\.$`),
  );
  await new Promise((resolve) => server.close(resolve));
});

it('listeningInodes returns only sockets that listen on that port', () => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0
   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0
   2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1 0`;
  expect(listeningInodes(table, 8080)).toEqual(['111']);
});
