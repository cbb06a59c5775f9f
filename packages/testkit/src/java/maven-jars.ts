import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, LocalError, withInstallLock } from '@uswarm/dev-servers';

/** A file of Maven Central. */
export interface MavenJar {
  /** `group:artifact:version` */
  coordinates: string;
  /** Hex hash of the file. */
  sha256: string;
}

const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';
const ATTEMPTS = 3;
const DEADLINE_MS = 10 * 60_000;

/**
 * Downloads the files once into the user's cache and returns their paths, in the given order. Each file is checked
 * by its hash. Safe to call from several processes concurrently.
 * @throws LocalError when a file cannot be downloaded or is not the expected one
 */
export async function mavenJars(jars: readonly MavenJar[]): Promise<string[]> {
  const fingerprint = createHash('sha256').update(JSON.stringify(jars)).digest('hex').slice(0, 12);
  const folder = join(cacheFolder(), `jars-${fingerprint}`);
  await mkdir(cacheFolder(), { recursive: true });
  await withInstallLock(`${folder}.lock`, async () => {
    if (!existsSync(folder)) await download(jars, folder);
  });
  return jars.map((jar) => join(folder, fileName(jar)));
}

async function download(jars: readonly MavenJar[], folder: string): Promise<void> {
  const partial = await mkdtemp(`${folder}.`);
  try {
    await writeFile(join(partial, 'pom.xml'), pomOf(jars));
    await fetchAll(partial);
    for (const jar of jars) await check(jar, join(partial, 'files', fileName(jar)));
    await rename(join(partial, 'files'), folder);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

/** Retries, because a registry can return 429 and 503. Downloaded files are kept for the next attempt. */
async function fetchAll(folder: string): Promise<void> {
  const goal = `${PLUGIN}:copy-dependencies`;
  const options = [`-Dmaven.repo.local=${join(folder, 'repository')}`, '-DoutputDirectory=files'];
  for (let attempt = 1; ; attempt += 1) {
    try {
      const args = ['--batch-mode', '--quiet', '--strict-checksums', ...options, goal];
      await promisify(execFile)('mvn', args, { cwd: folder, timeout: DEADLINE_MS });
      return;
    } catch (cause) {
      const { stdout = '', message } = cause as Error & { stdout?: string };
      const reason = stdout.split('\n').find((line) => line.includes('ERROR')) ?? message;
      if (attempt === ATTEMPTS) throw new LocalError(`mvn could not download the files: ${reason}`);
    }
  }
}

async function check({ coordinates, sha256 }: MavenJar, file: string): Promise<void> {
  const found = createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
  if (found !== sha256) throw new LocalError(`${coordinates} has the hash ${found}, not ${sha256}`);
}

function fileName({ coordinates }: MavenJar): string {
  const [, artifact, version] = coordinates.split(':');
  return `${artifact}-${version}.jar`;
}

/** Lists each file without its dependencies, which have no pinned hash. */
function pomOf(jars: readonly MavenJar[]): string {
  const dependencies = jars.map(({ coordinates }) => {
    const [group, artifact, version] = coordinates.split(':');
    const none = '<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>';
    const names = `<groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version>`;
    return `<dependency>${names}${none}</dependency>`;
  });
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>uswarm</groupId><artifactId>jars</artifactId><version>1</version>
  <dependencies>${dependencies.join('\n')}</dependencies>
</project>
`;
}
