import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../run/e2e/settings.mjs';
import { seconds } from '../run/environment.mjs';
import { runQuietly, tail } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';
import { docker, inspectImage } from './docker.mjs';

const SUITE = 'bookworm';
/** Package sources on a machine with this release; other machines use mmdebstrap's defaults. */
const OWN_SOURCES = '/etc/apt/sources.list.d/debian.sources';
const OWN_ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch;
/** Platform of images that run on this machine. */
export const OWN_PLATFORM = `linux/${OWN_ARCHITECTURE}`;

/** Excluded from every root: documents except licences, package manager data, charset converters. */
const NEVER_NEEDED = [
  'usr/share/doc/*/!(copyright)',
  'usr/share/{man,info,locale,lintian,bug,bash-completion,debconf,perl5,menu,doc-base}',
  'usr/lib/*/{gconv,perl,perl-base,audit}',
  'usr/{bin,sbin}/{perl,deb}*',
  'etc/{debconf.conf,ca-certificates,fstab,hostname,resolv.conf}',
  'var/log/*',
];

/**
 * A root file system of extracted Debian packages. Their install scripts are not run.
 *
 * @typedef {object} DebianRoot
 * @property {string} name
 * @property {string[]} packages installed with their dependencies
 * @property {string} [architecture] Debian's name; by default this machine's
 * @property {string[]} [inputs] hashes for files that the commands add
 * @property {string[]} [remove] additional path patterns to remove
 * @property {string[]} [commands] final shell commands in the root's folder
 */

/** Cache for slow builds, outside the checkout. */
export function imageCache() {
  return join(cacheFolder(), 'images');
}

/** @param {DebianRoot} root */
export function rootHash(root) {
  const { packages, inputs = [], architecture = OWN_ARCHITECTURE } = root;
  // Node's name of this machine's processor, so that bases built before other processors were possible stay valid.
  const processor = architecture === OWN_ARCHITECTURE ? process.arch : architecture;
  const recipe = [SUITE, processor, finishingScript(root), packages, inputs];
  return createHash('sha256').update(JSON.stringify(recipe)).digest('hex').slice(0, 12);
}

/**
 * Imports the root into Docker unless it exists.
 *
 * @returns its reference. @throws RunError
 */
export async function debianImage(root, { report = console.log, cache = imageCache() } = {}) {
  const ref = `localhost/uswarm-base/${root.name}:${rootHash(root)}`;
  if ((await inspectImage(ref)) !== undefined) return ref;
  const platform = `linux/${root.architecture ?? OWN_ARCHITECTURE}`;
  await withDebianArchive(
    root,
    (archive) => docker(['import', '--platform', platform, '--message', root.packages.join(' '), archive, ref]),
    { report, cache },
  );
  return ref;
}

/** Calls `use` with the root as tar file, which exists only during the call. */
export async function withDebianArchive(root, use, { report = console.log, cache = imageCache() } = {}) {
  const started = performance.now();
  report(`Building ${root.name} from Debian packages…`);
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, `${root.name}-`));
  try {
    const archive = join(draft, 'root.tar');
    await writeRoot(root, archive);
    await use(archive);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  report(`  ${root.name} (${seconds(performance.now() - started)})`);
}

async function writeRoot(root, archive) {
  // Docker creates device files itself, and a rootless Docker cannot unpack them.
  const { architecture = OWN_ARCHITECTURE } = root;
  const options = ['--variant=extract', '--skip=output/dev', `--architectures=${architecture}`];
  options.push('--aptopt=Acquire::Languages "none"', '--aptopt=Acquire::Retries "3"');
  const what = [`--include=${root.packages.join(',')}`, `--extract-hook=${hook(finishingScript(root))}`];
  const sources = isOwnSuite() ? [OWN_SOURCES] : [];
  const { code, output } = await runQuietly('mmdebstrap', [...options, ...what, SUITE, archive, ...sources], {
    // A reproducible archive.
    env: { ...process.env, SOURCE_DATE_EPOCH: '0' },
  });
  if (code !== 0) throw rootFailure(root.name, output);
}

function isOwnSuite() {
  return existsSync(OWN_SOURCES) && readFileSync(OWN_SOURCES, 'utf8').includes(SUITE);
}

/** The hook in the root's folder: removes unneeded files and adds files that no package has. */
export function finishingScript({ remove = [], commands = [] }) {
  return [
    'set -eu -o pipefail; shopt -s extglob nullglob; cd "$1"',
    `rm -rf ${[...NEVER_NEEDED, ...remove].join(' ')}`,
    'mkdir -p etc tmp run home/nonroot dev proc sys; chmod 1777 tmp',
    String.raw`printf '%s\n' root:x:0:0:root:/root:/sbin/nologin nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin > etc/passwd`,
    String.raw`printf '%s\n' root:x:0: nonroot:x:65532: > etc/group`,
    String.raw`printf '%s\n' 'passwd: files' 'group: files' 'hosts: files dns' > etc/nsswitch.conf`,
    ...commands,
    // mmdebstrap empties these two files afterwards, and would follow a link to this machine's.
    'for folder in run tmp; do if [ -L $folder ]; then echo "$folder must not be a link" >&2; exit 1; fi; done',
    'find . -xtype l -path "./etc/*" -delete; if [ -d usr ]; then find usr -depth -type d -empty -delete; fi',
  ].join('\n');
}

/** mmdebstrap runs a hook with `sh`, which does not support these patterns. */
function hook(script) {
  return `bash -O extglob -c '${script.replaceAll("'", String.raw`'\''`)}' bash "$1"`;
}

function rootFailure(name, output) {
  if (process.platform !== 'linux' || /spawn mmdebstrap ENOENT/.test(output)) {
    return new RunError(
      `The image of ${name} is built from Debian packages, which requires Linux and mmdebstrap: ` +
        'install the packages mmdebstrap and debian-archive-keyring.',
    );
  }
  return new RunError(`${tail(output, 15)}\n\nThe Debian packages of ${name} could not be downloaded: see above.`);
}
