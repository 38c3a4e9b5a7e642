/** The words of the API under short names; `schema.d.ts` is made by `npm run types`. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Answer = "yes" | "no" | "unsure";
export type CollectionInfo = Schemas["CollectionInfo"];
export type SkippedFile = Schemas["SkippedFile"];
export type Picture = Schemas["Picture"];
export type PicturePage = Schemas["PicturePage"];
export type Upload = Schemas["Upload"];
export type Settings = Schemas["Settings"];
/** What is not given is as the server has it. */
export type NewSearch = Pick<Schemas["SearchCreate"], "collection"> & Partial<Schemas["SearchCreate"]>;
export type SearchInfo = Schemas["SearchInfo"];
export type SearchState = Schemas["SearchState"];
export type Result = Schemas["Result"];
export type ResultPage = Schemas["ResultPage"];
export type Estimate = Schemas["Estimate"];
export type ThresholdInfo = Schemas["ThresholdInfo"];
export type Thresholds = Schemas["Thresholds"];
export type Labelled = Schemas["Labelled"];
export type History = Schemas["History"];
export type Influence = Schemas["Influence"];
export type Explanation = Schemas["Explanation"];
export type Strategy = Schemas["StrategyInfo"];
export type AdviceAt = Schemas["AdviceAt"];
export type AuditState = Schemas["AuditState"];
export type Interval = Schemas["Interval"];
export type Classes = Schemas["Classes"];
export type Conflict = Schemas["Conflict"];
