import { type CommanderError, InvalidArgumentError, type OutputConfiguration } from 'commander';

/** Where help and usage errors are printed; stdout and stderr by default. */
export type CommandLineOutput = Pick<OutputConfiguration, 'writeOut' | 'writeErr'>;

/** 0 after help was printed, 2 after a usage error was printed. */
export const usageExitCode = (error: CommanderError): number => (error.exitCode === 0 ? 0 : 2);

/** The origin in an http or https URL; undefined for other text. */
export function originOf(text: string): string | undefined {
  const url = URL.parse(text);
  return url !== null && ['http:', 'https:'].includes(url.protocol) ? url.origin : undefined;
}

/** Reduces a URL to its origin. @throws InvalidArgumentError */
export function httpOrigin(text: string): string {
  const origin = originOf(text);
  if (origin === undefined) throw new InvalidArgumentError('It must be an http or https URL.');
  return origin;
}

/** Ends the process when its output is no longer read, as in `uswarmctl … | head`. */
export function exitWhenOutputCloses({ stdout }: Pick<NodeJS.Process, 'stdout'>): void {
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });
}
