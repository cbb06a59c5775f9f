import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { openDatabase } from '../platform/database/database.js';
import { createEpochs } from './epoch.js';

describe('the epoch', () => {
  let db: MigratedDatabase;
  beforeAll(async () => {
    db = await createMigratedDatabase();
  });
  afterAll(() => db.close());

  it('is the same for all readers', async () => {
    const [one, other] = [createEpochs(), createEpochs()];
    expect(await one.read(db.database)).toMatch(/^[a-z0-9]{16}$/);
    expect(await other.read(db.database)).toBe(one.current());
  });

  it('changes with each bump, also if it is fixed', async () => {
    const [derived, fixed] = [createEpochs(), createEpochs('production')];
    const before = [await derived.read(db.database), await fixed.read(db.database)];
    const bumped = await derived.bump(db.database);
    const after = [await derived.read(db.database), await fixed.read(db.database)];
    expect(new Set([...before, ...after]).size).toBe(4);
    expect(after[0]).toBe(bumped);
  });

  it('does not depend on the history of the database if it is fixed', async () => {
    const restored = await createMigratedDatabase();
    try {
      const values = [
        await createEpochs('production').read(restored.database),
        await createEpochs('production').read(restored.database),
      ];
      expect(values[0]).toBe(values[1]);
      expect(values[0]).not.toBe(await createEpochs().read(restored.database));
    } finally {
      await restored.close();
    }
  });

  it('is the new one in all processes after a bump', async () => {
    const epochs = createEpochs();
    const before = await epochs.read(db.database);
    const watch = epochs.watch(db.database, silentLogger);
    try {
      const bumped = await createEpochs().bump(db.database);
      watch.runNow();
      expect(await eventually(async () => epochs.current(), { until: (epoch) => epoch !== before })).toBe(bumped);
    } finally {
      await watch.close();
    }
  });

  it('is known after the first statement on a new connection', async () => {
    const epochs = createEpochs();
    const database = openDatabase({ url: db.url, maxConnections: 1, onConnect: epochs.onConnect });
    try {
      expect(() => epochs.current()).toThrow('not read');
      await database.selectFrom('users').select('id').execute();
      expect(await eventually(async () => epochs.current(), { until: () => true })).toBe(
        await createEpochs().read(database),
      );
    } finally {
      await database.destroy();
    }
  });
});
