import { USERSWARM_NAME, USERSWARM_NAME_LENGTH, userSwarmName } from '@uswarm/contract/userswarm';
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { durationS } from './duration.js';

/** A runtime, and where to read about it. */
interface SwarmTarget {
  swarm: string;
  /** The release's namespace; undefined searches all. */
  namespace: string | undefined;
}

/** Commands that use Kubernetes with the operator's kubeconfig, and do not need the orchestrator. */
export type ClusterCommand =
  | ({ name: 'explain' } & SwarmTarget)
  | ({
      name: 'why';
      /** Prefix of runbook links. */
      runbooks: string;
    } & SwarmTarget)
  | {
      name: 'drain';
      swarms: string[];
      /** Drains the runtimes on this node. */
      node: string | undefined;
      all: boolean;
      /** Releases the runtimes instead. */
      undo: boolean;
      waitS: number;
    }
  | { name: 'rollout status' }
  | { name: 'rollout force'; swarm: string };

type Select = (command: ClusterCommand) => void;
type TargetFlags = { namespace?: string };

const namespaceOption = () =>
  new Option('-n, --namespace <name>', "the release's namespace (default: all are searched)");
const swarmArgument = () => new Argument('<workspace>', 'workspace id, or name of the UserSwarm').argParser(swarmName);

export function addClusterCommands(program: Command, select: Select): void {
  addExplainCommand(program, select);
  addWhyCommand(program, select);
  addDrainCommand(program, select);
  addRolloutCommands(program, select);
}

function addExplainCommand(program: Command, select: Select): void {
  program
    .command('explain')
    .summary('explain the state of a runtime')
    .description(
      'Explain the state of a runtime and recommend actions, from its conditions, pods and Events.\n' +
        'Reads Kubernetes with your kubeconfig and does not need the orchestrator. With --port-forward, --url or\n' +
        'USWARM_ADMIN_URL, also lists the last failed turns with their traces.',
    )
    .addArgument(swarmArgument())
    .addOption(namespaceOption())
    .action((swarm: string, { namespace }: TargetFlags) => select({ name: 'explain', swarm, namespace }));
}

function addWhyCommand(program: Command, select: Select): void {
  program
    .command('why')
    .summary('show why a runtime is not ready: from condition to Event, pod and log line')
    .description(
      'Show why a runtime is not ready: the chain from its condition to Events, pod and the log line that explains it.\n' +
        'Reads Kubernetes with your kubeconfig and does not need the orchestrator.',
    )
    .addArgument(swarmArgument())
    .addOption(
      new Option('--runbooks <url>', 'prefix of runbook links').env('USWARM_RUNBOOKS').default('docs/runbooks'),
    )
    .addOption(namespaceOption())
    .action((swarm: string, { runbooks, namespace }: TargetFlags & { runbooks: string }) =>
      select({ name: 'why', swarm, runbooks, namespace }),
    );
}

type DrainFlags = { node?: string; all?: boolean; undo?: boolean; wait: number };

function addDrainCommand(program: Command, select: Select): void {
  const command = program
    .command('drain')
    .summary('hold runtimes suspended until --undo, for maintenance')
    .description(
      'Hold runtimes suspended, and wait until their pods have ended. Running turns end first, messages wait.\n' +
        'With --undo, the orchestrator manages the runtimes again: the next message resumes them.',
    )
    .argument('[workspace...]', 'workspace ids, or names of UserSwarms')
    .option('--node <name>', 'the runtimes that run on this node')
    .option('--all', 'all runtimes')
    .option('--undo', 'release the runtimes')
    .addOption(
      new Option('--wait <duration>', 'maximum wait for the pods, such as 90s or 5m')
        .argParser(durationS)
        .default(150, '150s'),
    );
  command.action((texts: string[], { node, all = false, undo = false, wait }: DrainFlags) => {
    const selections = [texts.length > 0, node !== undefined, all].filter(Boolean).length;
    if (selections !== 1) command.error('error: name workspaces, or use either --node or --all');
    // Nothing runs on the node that was drained.
    if (undo && node !== undefined) command.error('error: --undo needs workspaces or --all');
    const swarms = texts.map((text) => swarmOperand(command, text));
    select({ name: 'drain', swarms, node, all, undo, waitS: wait });
  });
}

/** An argument parser gets each value of a list with the previous result, so the list is parsed here. */
function swarmOperand(command: Command, text: string): string {
  try {
    return swarmName(text);
  } catch (error) {
    return command.error(`error: '${text}' is invalid. ${(error as Error).message}`);
  }
}

function addRolloutCommands(program: Command, select: Select): void {
  const rollout = program.command('rollout').description('follow the rollout of runtimes');
  rollout
    .command('status')
    .description('show which runtimes wait for the current revision of image, keys and pod settings')
    .action(() => select({ name: 'rollout status' }));
  rollout
    .command('force')
    .description('change a runtime to the current revision now, even during a turn')
    .addArgument(swarmArgument())
    .action((swarm: string) => select({ name: 'rollout force', swarm }));
}

function swarmName(text: string): string {
  const name = text.startsWith('workspace-') ? text : userSwarmName(text.toLowerCase());
  if (USERSWARM_NAME.test(name) && name.length <= USERSWARM_NAME_LENGTH) return name;
  throw new InvalidArgumentError('It must be a workspace id or the name of a UserSwarm.');
}
