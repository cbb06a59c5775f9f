import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const RUNS_KEPT = 5;
const RUN = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d$/;

/** Deletes the oldest folders from previous runs. @returns a new folder for this run's artifacts */
export function artifactsFolder(root, now = new Date()) {
  const folder = join(root, now.toISOString().slice(0, 19).replaceAll(':', '-'));
  mkdirSync(folder, { recursive: true });
  const runs = readdirSync(root).filter((name) => RUN.test(name));
  for (const old of runs.toSorted().slice(0, -RUNS_KEPT)) rmSync(join(root, old), { recursive: true, force: true });
  return folder;
}
