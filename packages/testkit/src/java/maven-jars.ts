import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, LocalError } from '@uswarm/dev-servers';
import { cachedFolder } from './cached-folder.js';

/** A file of Maven Central. */
export interface MavenJar {
  /** `group:artifact:version` */
  coordinates: string;
  /** Hex file hash. */
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
  await cachedFolder(folder, (files) => download(jars, files));
  return jars.map((jar) => join(folder, fileName(jar)));
}

async function download(jars: readonly MavenJar[], files: string): Promise<void> {
  const project = await mkdtemp(join(tmpdir(), 'uswarm-maven-'));
  try {
    await writeFile(join(project, 'pom.xml'), pomOf(jars));
    await fetchAll(project, files);
    for (const jar of jars) await check(jar, join(files, fileName(jar)));
  } finally {
    await rm(project, { recursive: true, force: true });
  }
}

/** Retries, because a registry can return 429 and 503. Downloaded files are kept for the next attempt. */
async function fetchAll(project: string, files: string): Promise<void> {
  const goal = `${PLUGIN}:copy-dependencies`;
  const options = [`-Dmaven.repo.local=${join(project, 'repository')}`, `-DoutputDirectory=${files}`];
  for (let attempt = 1; ; attempt += 1) {
    try {
      const args = ['--batch-mode', '--quiet', '--strict-checksums', ...options, goal];
      await promisify(execFile)('mvn', args, { cwd: project, timeout: DEADLINE_MS });
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
