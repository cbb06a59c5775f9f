import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { LocalError, type MissingPart } from '@uswarm/dev-servers';

/** The minimum version of openapi-generator and the Kotlin compiler. */
const OLDEST_JAVA = 17;
const OLDEST_MAVEN = [3, 6] as const;

/** Sufficient for the Kotlin compiler; leaves memory for concurrent tests. */
const HEAP = '-Xmx768m';
const DEADLINE_MS = 10 * 60_000;

/** @returns `undefined` if this machine can run programs from Maven Central */
export function missingJava(): MissingPart | undefined {
  const java = Number(/version "(\d+)/.exec(printed('java', ['-version']))?.[1] ?? 0);
  const maven = /Apache Maven (\d+)\.(\d+)/.exec(printed('mvn', ['--batch-mode', '--version']));
  const [major, minor] = [Number(maven?.[1] ?? 0), Number(maven?.[2] ?? 0)];
  const newMaven = major > OLDEST_MAVEN[0] || (major === OLDEST_MAVEN[0] && minor >= OLDEST_MAVEN[1]);
  if (java >= OLDEST_JAVA && newMaven) return undefined;
  const versions = `Java ${OLDEST_JAVA} and Maven ${OLDEST_MAVEN.join('.')}, or newer`;
  return {
    reason: `This machine lacks ${versions}, to generate and compile clients with.`,
    install: `Install ${versions}.`,
  };
}

function printed(program: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: 30_000 });
  return status === 0 ? `${stdout}${stderr}` : '';
}

/** Options for programs that run for seconds: a bounded heap, one collector thread and the C1 compiler. */
export const JAVA_OPTIONS: readonly string[] = [HEAP, '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];

/**
 * Runs a Java program with a bounded heap and returns its standard output.
 * @throws LocalError with the end of its error output
 */
export async function runJava(args: readonly string[], { cwd }: { cwd?: string } = {}): Promise<string> {
  try {
    const run = promisify(execFile);
    const limits = { timeout: DEADLINE_MS, maxBuffer: 64 * 1024 * 1024 };
    const { stdout } = await run('java', [...JAVA_OPTIONS, ...args], {
      ...limits,
      ...(cwd === undefined ? {} : { cwd }),
    });
    return stdout;
  } catch (cause) {
    const { stderr = '', message } = cause as Error & { stderr?: string };
    throw new LocalError(`java failed: ${stderr === '' ? message : stderr.slice(-4_000)}`);
  }
}
