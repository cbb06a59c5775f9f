/** Keeps what is logged and knows what must never be. */
export interface LogWatch {
  destination: { write(line: string): void };
  /** No line may hold this text. Short ones are not looked for: they may stand anywhere. */
  plant(text: string): void;
  /** The same for everything private in the body of a request. */
  plantBody(body: string): void;
  /** The lines that hold what was planted. */
  leaks(): string[];
}

const SHORTEST = 12;
/** Fields of bodies that are nobody else's business. */
const PRIVATE = new Set(['text', 'content', 'description', 'push_token', 'authorization_code', 'code_verifier']);

/** @param lines what is logged goes there, too */
export function watchLogs(lines: string[] = []): LogWatch {
  const planted = new Set<string>();
  const plant = (text: string): void => {
    // As JSON has it, for that is what a line is.
    const written = JSON.stringify(text).slice(1, -1);
    if (written.length >= SHORTEST) planted.add(written);
  };
  const plantFields = (value: unknown, isPrivate: boolean): void => {
    if (typeof value === 'string' && isPrivate) plant(value);
    if (typeof value !== 'object' || value === null) return;
    for (const [name, part] of Object.entries(value)) plantFields(part, isPrivate || PRIVATE.has(name));
  };
  return {
    destination: { write: (line) => void lines.push(line) },
    plant,
    plantBody(body) {
      try {
        plantFields(JSON.parse(body), false);
      } catch {
        plant(body);
      }
    },
    leaks: () => [...planted].flatMap((text) => lines.filter((line) => line.includes(text))),
  };
}
