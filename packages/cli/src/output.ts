/** Where a chat writes its text. */
export interface Output {
  write(text: string): void;
}
