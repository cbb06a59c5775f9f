import { expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import { startTestOrchestrator } from '../../test/test-orchestrator.js';

it('starts although the first connections to Postgres fail', async () => {
  const proxy = await startFaultInjectionProxy(process.env['TEST_POSTGRES_URL'] ?? '');
  try {
    await proxy.disconnect();
    const lines: string[] = [];
    const starting = startTestOrchestrator({ reachDatabaseBy: (url) => proxy.redirect(url), logTo: lines });
    await Promise.race([starting, eventually(() => lines.some((line) => line.includes('waiting for the database')))]);
    await proxy.restore();
    const uswarm = await starting;
    const user = await uswarm.user();
    expect((await user.get('/v1/health')).status).toBe(200);
    await uswarm.close();
  } finally {
    await proxy.close();
  }
});
