import { existsSync } from 'node:fs';
import { chmod, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { withInstallLock } from '../install-lock.js';
import { MissingPartError } from '../local-error.js';
import type { MissingPart } from '../missing-part.js';
import { GO_DEADLINE_MS, goCacheFolder, missingGo, withGo } from './go.js';

/** A program that is only to be had as the source of a Go module. */
export interface GoProgram {
  name: string;
  /** Of the module that it is in. */
  version: string;
  /** Import path of its package, or the folder of a module of ours. */
  from: { package: string } | { folder: string };
  /** What it is for: "build … with". */
  purpose: string;
}

const pathOf = ({ name, version }: GoProgram): string => join(goCacheFolder(), `${name}-${version}`);

/** `undefined` when the program is here or can be built. */
export function missingGoProgram(program: GoProgram): MissingPart | undefined {
  return existsSync(pathOf(program)) ? undefined : missingGo(`build ${program.purpose}`);
}

/**
 * Path of the program, built once into the user's cache: seconds to minutes. Those of `together` that are
 * missing are built with it, since what one compiles the next one needs. Safe to call from several
 * processes at once: one builds, the others wait.
 * @throws LocalError
 */
export async function goProgram(program: GoProgram, together: readonly GoProgram[] = [program]): Promise<string> {
  const file = pathOf(program);
  if (existsSync(file)) return file;
  const missing = missingGoProgram(program);
  if (missing !== undefined) throw new MissingPartError(missing);
  await mkdir(goCacheFolder(), { recursive: true });
  await withInstallLock(
    `${pathOf(together[0] ?? program)}.lock`,
    async () => {
      if (!existsSync(file)) await build(together.filter((each) => !existsSync(pathOf(each))));
    },
    GO_DEADLINE_MS,
  );
  return file;
}

function build(programs: readonly GoProgram[]): Promise<void> {
  return withGo(join(goCacheFolder(), 'go.'), async (go, folder) => {
    for (const program of programs) {
      const { name, version, from } = program;
      const install = ['install', '-trimpath', '-ldflags', '-s -w'];
      if ('folder' in from) await go([...install, '.'], from.folder);
      else await go([...install, `${from.package}@${version}`]);
      const built = join(folder, 'bin', name);
      await chmod(built, 0o755);
      await rename(built, pathOf(program));
    }
  });
}
