import { type CommanderError, InvalidArgumentError, type OutputConfiguration } from 'commander';

/** Where help and usage errors are printed; stdout and stderr by default. */
export type CommandLineOutput = Pick<OutputConfiguration, 'writeOut' | 'writeErr'>;

/** 0 after help was printed, 2 after a usage error was printed. */
export const usageExitCode = (error: CommanderError): number => (error.exitCode === 0 ? 0 : 2);

/** Reduces a URL to its origin. @throws InvalidArgumentError */
export function httpOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new InvalidArgumentError('It must be an http or https URL.');
  }
  return url.origin;
}
