import { spawn } from 'node:child_process';
import { kubeTools } from '@uswarm/testkit';
import type { Settings } from './settings.js';

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}
export interface RunOptions {
  input?: string;
  /** Milliseconds after which the program is killed. */
  timeoutMs?: number;
  /** Return a failing program's output instead of throwing. */
  mayFail?: boolean;
}

/** kubectl and helm against the cluster of this run. */
export interface Tools {
  kubectl(args: readonly string[], options?: RunOptions): Promise<Ran>;
  helm(args: readonly string[], options?: RunOptions): Promise<Ran>;
  /** The command line of kubectl, for long-running processes. */
  kubectlCommand(args: readonly string[]): Promise<[string, string[]]>;
}

export function createTools({ kubeconfig, context }: Pick<Settings, 'kubeconfig' | 'context'>): Tools {
  const kubectlCommand: Tools['kubectlCommand'] = async (args) => [
    (await kubeTools()).kubectl,
    [`--kubeconfig=${kubeconfig}`, `--context=${context}`, ...args],
  ];
  return {
    kubectlCommand,
    kubectl: async (args, options) => runProgram(...(await kubectlCommand(args)), options),
    helm: async (args, options) =>
      runProgram(
        (await kubeTools()).helm,
        [`--kubeconfig=${kubeconfig}`, `--kube-context=${context}`, ...args],
        options,
      ),
  };
}

/** @throws Error with the end of the output, when the program failed or timed out */
function runProgram(program: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { input = '', mayFail = false, timeoutMs = 60_000 } = options;
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // A program may exit before it has read its input; only its exit code counts.
  child.stdin.on('error', () => undefined).end(input);
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (signal === null && (code === 0 || mayFail)) return resolve({ code: code ?? 1, stdout, stderr });
      const end = signal === null ? `exit code ${code}` : `ended by ${signal} (limit ${timeoutMs / 1000} s)`;
      reject(new Error(`${program} ${args.join(' ')}: ${end}\n${`${stdout}\n${stderr}`.slice(-4_000)}`));
    });
  });
}
