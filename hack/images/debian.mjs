import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../run/e2e/settings.mjs';
import { seconds } from '../run/environment.mjs';
import { runQuietly, tail } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';
import { docker, inspectImage } from './docker.mjs';

const SUITE = 'bookworm';
/** Where a machine with this release takes its own packages from; others take them where mmdebstrap does. */
const OWN_SOURCES = '/etc/apt/sources.list.d/debian.sources';

/** In every root: no documents but the licences, nothing of a package manager, no charset converters. */
const NEVER_NEEDED = [
  'usr/share/doc/*/!(copyright)',
  'usr/share/{man,info,locale,lintian,bug,bash-completion,debconf,perl5,menu,doc-base}',
  'usr/lib/*/{gconv,perl,perl-base,audit}',
  'usr/{bin,sbin}/{perl,deb}*',
  'etc/{debconf.conf,ca-certificates,fstab,hostname,resolv.conf}',
  'var/log/*',
];

/**
 * A root file system out of Debian packages, extracted and not installed: no script of theirs runs.
 *
 * @typedef {object} DebianRoot
 * @property {string} name
 * @property {string[]} packages with what they depend on
 * @property {string[]} [inputs] hashes of what the commands put in
 * @property {string[]} [remove] more patterns of paths that are not needed
 * @property {string[]} [commands] shell commands in the root's folder, last
 */

/** What takes long to make is kept here, outside of the checkout. */
export function imageCache() {
  return join(cacheFolder(), 'images');
}

/** @param {DebianRoot} root */
export function rootHash(root) {
  const { packages, inputs = [] } = root;
  const recipe = [SUITE, process.arch, finishingScript(root), packages, inputs];
  return createHash('sha256').update(JSON.stringify(recipe)).digest('hex').slice(0, 12);
}

/**
 * Imports the root into Docker unless it is there.
 *
 * @returns its reference. @throws RunError
 */
export async function debianImage(root, { say = console.log, cache = imageCache() } = {}) {
  const ref = `localhost/uswarm-base/${root.name}:${rootHash(root)}`;
  if ((await inspectImage(ref)) !== undefined) return ref;
  const started = performance.now();
  say(`Putting ${root.name} together from Debian packages…`);
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, `${root.name}-`));
  try {
    const archive = join(draft, 'root.tar');
    await writeRoot(root, archive);
    await docker(['import', '--message', root.packages.join(' '), archive, ref]);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  say(`  ${root.name} (${seconds(performance.now() - started)})`);
  return ref;
}

async function writeRoot(root, archive) {
  // Device files are docker's to make, and a rootless one cannot unpack them.
  const options = ['--variant=extract', '--skip=output/dev', '--aptopt=Acquire::Languages "none"'];
  const what = [`--include=${root.packages.join(',')}`, `--extract-hook=${hook(finishingScript(root))}`];
  const sources = isOwnSuite() ? [OWN_SOURCES] : [];
  const { code, output } = await runQuietly('mmdebstrap', [...options, ...what, SUITE, archive, ...sources], {
    // The same archive, whenever it is made from the same packages.
    env: { ...process.env, SOURCE_DATE_EPOCH: '0' },
  });
  if (code !== 0) throw rootFailure(root.name, output);
}

function isOwnSuite() {
  return existsSync(OWN_SOURCES) && readFileSync(OWN_SOURCES, 'utf8').includes(SUITE);
}

/** What is done in the root's folder, its first argument: it is trimmed, and gets what no package carries. */
export function finishingScript({ remove = [], commands = [] }) {
  return [
    'set -eu -o pipefail; shopt -s extglob nullglob; cd "$1"',
    `rm -rf ${[...NEVER_NEEDED, ...remove].join(' ')}`,
    'mkdir -p etc tmp run home/nonroot dev proc sys; chmod 1777 tmp',
    String.raw`printf '%s\n' root:x:0:0:root:/root:/sbin/nologin nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin > etc/passwd`,
    String.raw`printf '%s\n' root:x:0: nonroot:x:65532: > etc/group`,
    String.raw`printf '%s\n' 'passwd: files' 'group: files' 'hosts: files dns' > etc/nsswitch.conf`,
    ...commands,
    // mmdebstrap empties these two afterwards, and would follow a link to this machine's own.
    'for folder in run tmp; do if [ -L $folder ]; then echo "$folder must not be a link" >&2; exit 1; fi; done',
    'find . -xtype l -path "./etc/*" -delete; if [ -d usr ]; then find usr -depth -type d -empty -delete; fi',
  ].join('\n');
}

/** mmdebstrap runs a hook with `sh`, which knows neither of the patterns. */
function hook(script) {
  return `bash -O extglob -c '${script.replaceAll("'", String.raw`'\''`)}' bash "$1"`;
}

function rootFailure(name, output) {
  if (process.platform !== 'linux' || /spawn mmdebstrap ENOENT/.test(output)) {
    return new RunError(
      `The image of ${name} is made from Debian packages, which takes Linux and mmdebstrap: ` +
        'install the packages mmdebstrap and debian-archive-keyring.',
    );
  }
  return new RunError(`${tail(output, 15)}\n\nThe Debian packages of ${name} could not be had: the reason is above.`);
}
