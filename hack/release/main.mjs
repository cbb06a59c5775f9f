import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crane } from '../../packages/testkit/dist/go/chart-programs.js';
import { cosign } from '../../packages/testkit/dist/go/cosign.js';
import { currentVersion, seconds } from '../run/environment.mjs';
import { RunError } from '../run/run-error.mjs';
import { cutRelease } from './cut.mjs';
import { parseOptions, RELEASE_USAGE } from './options.mjs';
import { publishRelease } from './publish.mjs';
import { openRegistry, startRegistry } from './registry.mjs';
import { currentRevision, downloadsOf, releaseNotes } from './revision.mjs';
import { createSigner, generateKey } from './signing.mjs';

// `npm run release`. A separate program, because the packages that it uses need the pinned Node.js.

const args = process.argv.slice(2);
try {
  if (args.includes('--help')) console.log(RELEASE_USAGE);
  else await release(parseOptions(args));
} catch (error) {
  if (!(error instanceof RunError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function release(options) {
  if (options.cut) {
    for (const line of await cutRelease()) console.log(line);
    return;
  }
  const started = performance.now();
  const version = currentVersion();
  const revision = await currentRevision(version, options.dryRun);
  const notes = releaseNotes(version, options.dryRun);
  const programs = { cosign: await cosign(), crane: await crane() };
  const ctl = downloadsOf({ version, downloadUrl: options.downloadUrl });
  const { images, chart } = await inRegistry({ ...options, version, revision, notes, ctl }, programs);
  for (const { ref } of images) console.log(ref);
  console.log(chart);
  console.log(`Files: ${options.out} (${seconds(performance.now() - started)}).`);
}

async function inRegistry(options, programs) {
  const folder = mkdtempSync(join(tmpdir(), 'uswarm-release-'));
  try {
    const publish = ({ prefix, plainHttp, ...signing }) =>
      publishRelease({
        ...options,
        prefix,
        plainHttp,
        registry: openRegistry(programs.crane, { plainHttp }),
        signer: createSigner({ program: programs.cosign, folder, plainHttp, ...signing }),
      });
    if (!options.dryRun) return await publish(options);
    const { key } = await generateKey(programs.cosign, folder);
    process.env.COSIGN_PASSWORD = '';
    const { address: prefix, close } = await startRegistry(programs.crane);
    return await publish({ prefix, plainHttp: true, key, log: false }).finally(close);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
