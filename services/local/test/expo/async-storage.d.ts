/** The part of version 3 that the example uses; the package contains 50 MB of native code. */
declare const storage: {
  getAllKeys(): Promise<string[]>;
  getMany(keys: string[]): Promise<Record<string, string | null>>;
  setMany(entries: Record<string, string>): Promise<void>;
  removeMany(keys: string[]): Promise<void>;
};
export default storage;
