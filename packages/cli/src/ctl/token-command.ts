import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import { Failure } from '../failure.js';

/** Output of kubectl credential plugins, such as `kubectl oidc-login get-token`. */
const ExecCredential = z.object({ kind: z.literal('ExecCredential'), status: z.object({ token: z.string() }) });

/** Time for a person to sign in with a browser. */
const TIMEOUT_MS = 5 * 60_000;

/** Runs the command in a shell. @returns the token that it prints, alone or as an ExecCredential. @throws Failure */
export async function runTokenCommand(command: string): Promise<string> {
  const running = promisify(execFile)('/bin/sh', ['-c', command], { timeout: TIMEOUT_MS });
  // The program may ask the person something.
  running.child.stderr?.pipe(process.stderr);
  const { stdout } = await running.catch((cause: { code?: number | string | null }) => {
    // The message of the error contains the whole command, which may contain a secret.
    throw new Failure(`The token command failed (${cause.code ?? 'killed'}).`, { cause });
  });
  const text = stdout.trim();
  const credential = ExecCredential.safeParse(parseJson(text));
  const token = credential.success ? credential.data.status.token : text;
  if (token === '') throw new Failure('The token command printed nothing.');
  return token;
}
