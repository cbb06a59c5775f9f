/** Meaning of a state; `theme/tokens.css` has its colours. */
export type Tone = 'plain' | 'accent' | 'attention' | 'ok' | 'bad';
