import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { silentLogger } from '@uswarm/service-kit';
import { type DatabaseTemplate, SERVING_ROLE } from './test-database.js';

const SERVICE = path.resolve(import.meta.dirname, '../../../services/orchestrator');

type Migrate = (databaseUrl: string, logger: typeof silentLogger, servingRole: string) => Promise<void>;

/** The migrated schema, with the serving role's rights. @param migrate the orchestrator's, which needs this package for its tests */
export const orchestratorSchema = (migrate: Migrate): DatabaseTemplate => ({
  key: schemaKey(),
  prepare: (url) => migrate(url, silentLogger, SERVING_ROLE),
});

/** If several runs share a Postgres, it has one template for each version of these files. */
function schemaKey(): string {
  const migrations = readdirSync(path.join(SERVICE, 'migrations')).toSorted();
  const files = [...migrations.map((file) => `migrations/${file}`), 'src/platform/database/serving-role.ts'];
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(path.join(SERVICE, file)));
  return hash.digest('hex').slice(0, 12);
}
