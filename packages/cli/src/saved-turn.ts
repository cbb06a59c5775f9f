import { createHash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';

/** A turn that a chat waits for; a later chat continues it. */
const SavedTurn = z.object({
  conversation_id: z.string(),
  /** The message of the user. */
  local_id: z.string(),
  text: z.string(),
  /** The position of the chat in the events of the workspace. */
  position: z.union([z.string(), z.number()]).optional(),
  printed: z.object({
    finished: z.array(z.string()),
    current: z
      .object({
        id: z.string(),
        agent: z.string(),
        agentId: z.string().optional(),
        generation: z.number(),
        text: z.string(),
      })
      .optional(),
    lines: z.array(z.tuple([z.string(), z.string()])),
    ended: z.array(z.string()),
  }),
});
export type SavedTurn = z.output<typeof SavedTurn>;

/** The turn of the running chat of a user, in a file. */
export interface TurnFile {
  /** Undefined if there is none, or if it cannot be read. */
  read(): SavedTurn | undefined;
  /** Synchronous, because the process can be killed at any time. Not saving a turn does not end the chat. */
  save(turn: SavedTurn): void;
  remove(): void;
}

export function openTurnFile(dataDir: string, { url, email }: { url: string; email: string }): TurnFile {
  const user = createHash('sha256').update(`${url}\n${email}`).digest('hex').slice(0, 12);
  const path = join(dataDir, `chat-${user}.json`);
  return {
    read() {
      try {
        return SavedTurn.safeParse(parseJson(readFileSync(path, 'utf8'))).data;
      } catch {
        return undefined;
      }
    },
    save(turn) {
      try {
        writeFileSync(`${path}.new`, JSON.stringify(turn), { mode: 0o600 });
        renameSync(`${path}.new`, path);
      } catch {
        // A later chat then shows the messages of the conversation.
      }
    },
    remove: () => rmSync(path, { force: true }),
  };
}
