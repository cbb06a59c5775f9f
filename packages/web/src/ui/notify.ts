export interface Notice {
  title: string;
  description?: string;
  kind?: 'info' | 'error';
}
type Listener = (notice: Notice) => void;

const waiting: Notice[] = [];
let listener: Listener | undefined;

/** Called with the first notice, so that the toaster is loaded only then. */
let wanted: (() => void) | undefined;
export function onFirstNotice(load: () => void): () => void {
  wanted = load;
  if (waiting.length > 0) load();
  return () => void (wanted = undefined);
}

/** Shows a short message in the corner, also before the toaster is loaded. */
export function notify(notice: Notice): void {
  if (listener !== undefined) return listener(notice);
  waiting.push(notice);
  wanted?.();
}

/** For the toaster. */
export function onNotice(receive: Listener): () => void {
  listener = receive;
  for (const notice of waiting.splice(0)) receive(notice);
  return () => void (listener = undefined);
}

export const notifyError =
  (title: string) =>
  (error: unknown): void =>
    notify({ title, description: error instanceof Error ? error.message : String(error), kind: 'error' });
