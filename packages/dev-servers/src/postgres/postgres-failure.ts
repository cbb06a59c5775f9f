import { LocalError } from '../local-error.js';

const packages: Record<string, string> = {
  'libstdc++.so.6': 'libstdc++6 (Debian, Ubuntu) or libstdc++ (Fedora, Red Hat)',
  'libgcc_s.so.1': 'libgcc-s1 (Debian, Ubuntu) or libgcc (Fedora, Red Hat)',
};

/** Libraries in the embedded Postgres; its install script creates some as links. */
const BUNDLED = /^lib(crypto|ecpg|icu|lzma|ossp-uuid|pg|pq|ssl|xml2|xslt|z)/;

/** Describes the output of Postgres or initdb, or the reason why they did not run, in one sentence. */
export function postgresFailure(step: 'initdb' | 'postgres', output: string, logFile?: string): LocalError {
  const library = missingLibrary(output);
  if (library !== undefined) {
    if (BUNDLED.test(library)) {
      return new LocalError(
        `The embedded Postgres is incomplete (${library} is missing); remove node_modules and start again, ` +
          'and let npm packages run their install scripts.',
      );
    }
    const advice = packages[library] ?? 'the package of your system that contains it';
    return new LocalError(`Postgres needs the system library ${library}, which this machine lacks; install ${advice}.`);
  }
  if (/No space left on device/.test(output)) {
    return new LocalError('Postgres cannot start: the disk is full; free some space and start again.');
  }
  if (/lock file ".*postmaster\.pid" already exists/.test(output)) {
    return new LocalError('Postgres cannot start: another instance already uses this data folder; stop it first.');
  }
  const reason = lastReason(output);
  const where = logFile === undefined ? '' : ` The log is in ${logFile}.`;
  const what = step === 'initdb' ? 'The database could not be created' : 'Postgres could not start';
  return new LocalError(`${what}: ${reason}.${where}`);
}

/** Supports the messages of glibc, musl and macOS. */
function missingLibrary(output: string): string | undefined {
  const match =
    /error while loading shared libraries: ([^:\s]+):/.exec(output) ??
    /Error loading shared library ([^:\s]+):/.exec(output) ??
    /Library not loaded: (\S+)/.exec(output);
  return match?.[1];
}

export function isPortInUse(output: string): boolean {
  return /could not bind .*Address already in use/.test(output);
}

/** A killed postmaster's children keep its shared memory until they exit. */
export function isStillStopping(output: string): boolean {
  return /pre-existing shared memory block .* is still in use/.test(output);
}

function lastReason(output: string): string {
  const lines = output.split('\n').map((line) => line.trim());
  const failure = lines.findLast((line) => /\b(FATAL|PANIC|error):/i.test(line));
  const line = failure ?? lines.findLast((text) => text !== '') ?? 'it ended without a message';
  return line.replace(/^.*?(FATAL|PANIC|error):\s*/i, '').replace(/\.$/, '');
}
