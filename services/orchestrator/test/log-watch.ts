/** Records log lines and finds texts in them that must not be logged. */
export interface LogWatch {
  destination: { write(line: string): void };
  /** Registers a text that no line may contain. Short texts are ignored: they can occur by chance. */
  plant(text: string): void;
  plantBody(body: string): void;
  leaks(): string[];
}

const SHORTEST = 12;
const PRIVATE = new Set(['text', 'content', 'description', 'push_token', 'authorization_code', 'code_verifier']);

export function watchLogs(lines: string[] = []): LogWatch {
  const planted = new Set<string>();
  const plant = (text: string): void => {
    // Log lines are JSON, so the text is escaped as in JSON.
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
