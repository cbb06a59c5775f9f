import { createHash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';

/** A turn that a chat waits for; a later chat continues it. */
const SavedTurn = z.object({
  conversation_id: z.string(),
  /** User message. */
  local_id: z.string(),
  text: z.string(),
  /** The chat's position in the workspace events. */
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

/** A user's running turn, in a file. */
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
        // A later chat then shows the conversation's messages.
      }
    },
    remove: () => rmSync(path, { force: true }),
  };
}
