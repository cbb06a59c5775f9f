import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { startProbe } from './database-probe.js';

/** A database that the test makes reachable or unreachable. */
function fakeDatabase() {
  let up = true;
  let probes = 0;
  return {
    probe: async (): Promise<void> => {
      probes += 1;
      if (!up) throw new Error('connection refused');
    },
    set(value: boolean): void {
      up = value;
    },
    /** Waits for two more probes, because the first one may have started before the call. */
    async probedAgain(): Promise<void> {
      const before = probes;
      while (probes < before + 2) await turn();
    },
  };
}

describe('the database probe', () => {
  it('reports the state after start and updates it when the database changes', async () => {
    const database = fakeDatabase();
    const probe = await startProbe({ probe: database.probe, logger: silentLogger, intervalMs: 1 });
    expect(probe.state()).toBe('reachable');
    database.set(false);
    await database.probedAgain();
    expect(probe.state()).toBe('unreachable');
    database.set(true);
    await database.probedAgain();
    expect(probe.state()).toBe('reachable');
    await probe.stop();
  });

  it('starts if the database is unreachable', async () => {
    const database = fakeDatabase();
    database.set(false);
    const probe = await startProbe({ probe: database.probe, logger: silentLogger });
    expect(probe.state()).toBe('unreachable');
    await probe.stop();
  });
});
