import { writeFile } from 'node:fs/promises';
import { Failure } from '../../failure.js';
import { type ClusterOptions, inCluster } from '../cluster.js';
import type { CommandResult } from '../commands.js';
import type { CtlCommand } from '../ctl-arguments.js';
import { createSecrets, type CreatedSecret } from './create-secrets.js';
import { PRODUCTION_SECRETS } from './production-secrets.js';
import { type Ask, type InputName, readInputs } from './secret-inputs.js';
import { describedList, secretList, wantedSecrets } from './secret-manifests.js';

type SecretsCommand = Extract<CtlCommand, { name: 'secrets create' }> & ClusterOptions;

/**
 * Creates the Secrets of deploy/production, describes them, or writes them to a file.
 *
 * @param ask undefined without a terminal
 * @throws Failure
 */
export async function createProductionSecrets(
  command: SecretsCommand,
  env: Record<string, string | undefined>,
  ask: Ask | undefined,
): Promise<CommandResult> {
  const known = PRODUCTION_SECRETS.map(({ name }) => name);
  const unknown = command.skip.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Failure(`${unknown} is not one of the Secrets: ${known.join(', ')}.`);
  if (command.dryRun) {
    const list = describedList(command);
    return { json: list, text: JSON.stringify(list, undefined, 2) };
  }
  const inputs = (names: InputName[]) => readInputs(names, env, ask);
  if (command.out !== undefined) {
    const names = wantedSecrets(command).flatMap((secret) => secret.inputs);
    await writePrivate(command.out, secretList(command, await inputs(names)));
    return { json: { file: command.out }, text: `${command.out} written. It contains the values: encrypt it.` };
  }
  return inCluster(command, env, async (client) => reported(await createSecrets({ client, target: command, inputs })));
}

async function writePrivate(file: string, content: object): Promise<void> {
  const options = { mode: 0o600, flag: 'wx' };
  await writeFile(file, `${JSON.stringify(content, undefined, 2)}\n`, options).catch((cause: NodeJS.ErrnoException) => {
    throw new Failure(`${file} cannot be written (${cause.code}).`, { cause });
  });
}

/** Names only: terminals and CI logs keep what is printed. */
function reported(secrets: readonly CreatedSecret[]): CommandResult {
  const incomplete = secrets.some(({ missing }) => missing.length > 0);
  const lines = secrets.map(({ namespace, name, outcome, missing }) => {
    const lacking = missing.length === 0 ? '' : `, without ${missing.join(', ')}: add or delete it`;
    return `${outcome} ${namespace}/${name}${lacking}`;
  });
  return { json: secrets, text: lines.join('\n'), partial: incomplete };
}
