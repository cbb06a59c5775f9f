import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, cp, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { withInstallLock } from '../install-lock.js';
import { MissingPartError } from '../local-error.js';
import type { MissingPart } from '../missing-part.js';
import { cacheFolder } from '../cache-folder.js';
import { type Go, GO_DEADLINE_MS, missingCCompiler, missingGo, withGo } from './go.js';

/** A program that is built from a Go module. */
export interface GoProgram {
  name: string;
  /** Module version. */
  version: string;
  /** Import path of the package, or a module folder in this repository; `prepare` completes a copy of it. */
  from: { package: string } | { folder: string; prepare?: (go: Go, folder: string) => Promise<void> };
  /** Completes "build … with". */
  purpose: string;
  /** True if the build needs a C compiler. */
  cgo?: boolean;
}

const pathOf = ({ name, version }: GoProgram): string => join(cacheFolder(), `${name}-${version}`);

/** @returns `undefined` if the program is cached or can be built */
export function missingGoProgram(program: GoProgram): MissingPart | undefined {
  if (existsSync(pathOf(program))) return undefined;
  const purpose = `build ${program.purpose}`;
  return missingGo(purpose) ?? (program.cgo === true ? missingCCompiler(purpose) : undefined);
}

/**
 * Returns the program's path; the first call builds it into the user's cache, in seconds to minutes. Missing programs
 * in `together` are built in the same run, because they share dependencies. Concurrent processes wait for each other.
 * @throws LocalError
 */
export async function goProgram(program: GoProgram, together: readonly GoProgram[] = [program]): Promise<string> {
  const file = pathOf(program);
  if (existsSync(file)) return file;
  const missing = missingGoProgram(program);
  if (missing !== undefined) throw new MissingPartError(missing);
  await mkdir(cacheFolder(), { recursive: true });
  await withInstallLock(
    `${pathOf(together[0] ?? program)}.lock`,
    async () => {
      if (!existsSync(file)) await build(together.filter((each) => !existsSync(pathOf(each))));
    },
    { waitMs: GO_DEADLINE_MS },
  );
  return file;
}

function build(programs: readonly GoProgram[]): Promise<void> {
  return withGo(join(cacheFolder(), 'go.'), async (go, folder) => {
    for (const program of programs) {
      const { name, version, from } = program;
      const install = ['install', '-trimpath', '-ldflags', '-s -w'];
      const env = { CGO_ENABLED: program.cgo === true ? '1' : '0' };
      if ('folder' in from) await go([...install, '.'], await prepared(go, from, join(folder, 'source')), env);
      else await go([...install, `${from.package}@${version}`], folder, env);
      const built = join(folder, 'bin', name);
      await chmod(built, 0o755);
      await rename(built, pathOf(program));
    }
  });
}

async function prepared(
  go: Go,
  { folder, prepare }: Extract<GoProgram['from'], { folder: string }>,
  copy: string,
): Promise<string> {
  if (prepare === undefined) return folder;
  await cp(folder, copy, { recursive: true });
  await prepare(go, copy);
  return copy;
}

/** A version that changes with any file in the folder and with `besides`. */
export function hashOfFolder(folder: string, besides?: unknown): string {
  const hash = createHash('sha256');
  const files = (readdirSync(folder, { recursive: true }) as string[]).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );
  for (const file of files.toSorted()) hash.update(file).update(readFileSync(join(folder, file)));
  if (besides !== undefined) hash.update(JSON.stringify(besides));
  return hash.digest('hex').slice(0, 12);
}
