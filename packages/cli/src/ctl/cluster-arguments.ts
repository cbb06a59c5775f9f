import { USERSWARM_NAME, USERSWARM_NAME_LENGTH, userSwarmName } from '@uswarm/contract/userswarm';
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import type { ClusterOptions } from './cluster.js';

/** A runtime, and where to read about it. */
interface SwarmTarget extends ClusterOptions {
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
    } & SwarmTarget);

type Select = (command: ClusterCommand) => void;
type ClusterFlags = Partial<ClusterOptions> & { namespace?: string };

export const kubeconfigOption = () => new Option('--kubeconfig <file>', 'kubeconfig (default: KUBECONFIG)');
export const contextOption = () =>
  new Option('--context <name>', 'context of the kubeconfig (default: its current context)');
const namespaceOption = () =>
  new Option('-n, --namespace <name>', "the release's namespace (default: all are searched)");
const swarmArgument = () => new Argument('<workspace>', 'workspace id, or name of the UserSwarm').argParser(swarmName);

export function addClusterCommands(program: Command, select: Select): void {
  addExplainCommand(program, select);
  addWhyCommand(program, select);
}

function addExplainCommand(program: Command, select: Select): void {
  program
    .command('explain')
    .summary('explain the state of a runtime')
    .description(
      'Explain the state of a runtime and recommend actions, from its conditions, pods and Events.\n' +
        'Reads Kubernetes with your kubeconfig and does not need the orchestrator.',
    )
    .addArgument(swarmArgument())
    .addOption(namespaceOption())
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .action((swarm: string, { namespace, kubeconfig, context }: ClusterFlags) =>
      select({ name: 'explain', swarm, namespace, kubeconfig, context }),
    );
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
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .action((swarm: string, { runbooks, namespace, kubeconfig, context }: ClusterFlags & { runbooks: string }) =>
      select({ name: 'why', swarm, runbooks, namespace, kubeconfig, context }),
    );
}

function swarmName(text: string): string {
  const name = text.startsWith('workspace-') ? text : userSwarmName(text.toLowerCase());
  if (USERSWARM_NAME.test(name) && name.length <= USERSWARM_NAME_LENGTH) return name;
  throw new InvalidArgumentError('It must be a workspace id or the name of a UserSwarm.');
}
