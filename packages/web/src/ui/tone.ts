/** What a state means; `theme/tokens.css` has its colours. */
export type Tone = 'plain' | 'accent' | 'attention' | 'ok' | 'bad';
