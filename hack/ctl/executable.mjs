import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runQuietly } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';
import { nodeProgram } from './node-program.mjs';
import { requireOwnPlatform } from './platforms.mjs';
import { signMachO } from './sign.mjs';

/**
 * Adds a program to the Node.js of a platform, as a single executable application. The result depends only on its input.
 *
 * @param {string} text the program as CommonJS
 * @param {import('./platforms.mjs').Platform} platform
 * @returns {Promise<Buffer>} the executable
 * @throws RunError on a machine for which there is no Node.js to build with
 */
export async function createExecutable(text, platform) {
  const builder = await nodeProgram(requireOwnPlatform());
  const target = await nodeProgram(platform);
  const work = await mkdtemp(join(tmpdir(), 'uswarm-ctl-'));
  try {
    // The executable contains this path as the name of its code.
    const settings = {
      main: 'uswarmctl.cjs',
      output: 'uswarmctl',
      executable: target.program,
      disableExperimentalSEAWarning: true,
      // Both depend on the machine.
      useCodeCache: false,
      useSnapshot: false,
    };
    await writeFile(join(work, settings.main), text);
    await writeFile(join(work, 'settings.json'), JSON.stringify(settings));
    const { code, output } = await runQuietly(builder.program, ['--build-sea', 'settings.json'], { cwd: work });
    if (code !== 0) throw new RunError(`The executable for ${platform.name} could not be built:\n${output.trim()}`);
    const file = join(work, settings.output);
    await chmod(file, 0o755);
    if (platform.name.startsWith('darwin/')) await signMachO(file);
    return await readFile(file);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
