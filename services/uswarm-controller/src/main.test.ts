import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { undocumented } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { startScriptedApi } from '@uswarm/testkit/scripted-api';

it('serves the metrics of docs/metrics.md and reports leadership', async () => {
  const api = await startScriptedApi();
  const folder = await mkdtemp(join(tmpdir(), 'uswarm-controller-'));
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, api.config.exportConfig());
  const controller = spawn(process.execPath, [fileURLToPath(new URL('../dist/main.js', import.meta.url))], {
    env: {
      KUBECONFIG: kubeconfig,
      SYNC_URL: 'http://127.0.0.1:1/sync',
      SYNC_TOKEN: 't'.repeat(32),
      RUNTIME_NAMESPACES: 'userswarms',
      LEASE_NAMESPACE: 'backend',
      POD_NAME: 'pod-1',
      OPS_PORT: '0',
    },
  });
  const exit = once(controller, 'exit');
  try {
    const ports = Promise.withResolvers<number>();
    createInterface(controller.stdout).on('line', (line) => {
      const { ops_port } = JSON.parse(line) as { ops_port?: number };
      if (ops_port !== undefined) ports.resolve(ops_port);
    });
    const url = `http://127.0.0.1:${await ports.promise}/metrics`;
    let text = '';
    await eventually(async () => {
      text = await (await fetch(url)).text();
      return text.includes('uswarm_controller_leader{component="uswarm-controller"} 1');
    });
    expect(undocumented('uswarm-controller', text)).toEqual([]);
  } finally {
    controller.kill('SIGTERM');
    await exit;
    await api.close();
    await rm(folder, { recursive: true });
  }
});
