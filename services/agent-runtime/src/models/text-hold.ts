import type { Json } from './repair/json.js';

/** An event that only adds text. */
export interface TextDelta {
  /** Only texts of one kind can be joined. */
  kind: string;
  text: string;
  /** The event with another text. */
  withText: (text: string) => Json;
}

/** Joins consecutive texts in a stream into one event: each event passes all stages of the client library. */
export interface TextHold {
  readonly isHolding: boolean;
  /** Holds a text. @returns the events to pass on: none, or what was held and an event that is not text */
  add(event: Json): readonly Json[];
  /** @returns what was held */
  release(): readonly Json[];
}

/** @param deltaOf undefined for events that do more than to add text */
export function createTextHold(deltaOf: (event: Json) => TextDelta | undefined): TextHold {
  let held: TextDelta | undefined;

  function release(): readonly Json[] {
    if (held === undefined) return [];
    const { text, withText } = held;
    held = undefined;
    return [withText(text)];
  }

  return {
    get isHolding() {
      return held !== undefined;
    },
    add(event) {
      const delta = deltaOf(event);
      if (delta === undefined) return [...release(), event];
      if (held !== undefined && held.kind === delta.kind) {
        held.text += delta.text;
        return [];
      }
      const before = release();
      held = delta;
      return before;
    },
    release,
  };
}
