/** Why this machine cannot run a part, and what to install; both are sentences. */
export interface MissingPart {
  reason: string;
  install: string;
}
