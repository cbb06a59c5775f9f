import type { Choices } from './choices.js';
import { type CommandDeps, executeCommand } from './commands.js';
import { Failure } from './failure.js';
import { chooseAction, type RunningTurn, sendMessage, type TurnDeps } from './send-message.js';

export interface LineHandlerDeps {
  turn: TurnDeps;
  commands: CommandDeps;
  choices: Choices;
  /** Aborted when a turn takes too long. */
  limit: () => AbortSignal;
}

/** Executes interactive lines. */
export interface LineHandler {
  /** A command, an action number, or a message. Resolves when its turn has ended. @throws Failure */
  execute(line: string): Promise<void>;
  /** Stops the turn that runs. @throws Failure */
  stop(): Promise<void>;
}

export function createLineHandler({ turn, commands, choices, limit }: LineHandlerDeps): LineHandler {
  let running: RunningTurn | undefined;

  function start(line: string): RunningTurn {
    if (choices.size === 0 || !/^\d+$/.test(line)) return sendMessage(turn, line, limit());
    const choice = choices.find(Number(line));
    if (choice === undefined) throw new Failure(`No open card has the action ${line}.`);
    return chooseAction(turn, choice, limit());
  }

  return {
    async execute(line) {
      if (line.startsWith('/')) return executeCommand(commands, line);
      running = start(line);
      try {
        await running.ended;
      } finally {
        running = undefined;
      }
    },
    stop: async () => running?.stop(),
  };
}
