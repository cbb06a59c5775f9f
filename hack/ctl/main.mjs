import { RunError } from '../run/run-error.mjs';
import { buildCtl } from './build-ctl.mjs';
import { CTL_BINARIES_USAGE, parseOptions } from './options.mjs';

// `npm run ctl-binaries`: writes uswarmctl as one file per platform, and its krew manifest. A separate program, because the
// packages that it uses need the pinned Node.js.

const args = process.argv.slice(2);
try {
  if (args.includes('--help')) console.log(CTL_BINARIES_USAGE);
  else for (const { sha256, file } of await buildCtl(parseOptions(args))) console.log(`${sha256}  ${file}`);
} catch (error) {
  if (!(error instanceof RunError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
