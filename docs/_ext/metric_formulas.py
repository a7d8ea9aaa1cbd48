r"""The formula of each metric, in LaTeX.

Conventions: :math:`N_{ty}` pixels of true class t and predicted class y without void of the truth,
:math:`N_{t\cdot}` and :math:`N_{\cdot y}` their sums; G and S true and predicted regions of one image and
class; c confidence, d doubt, s anomaly score. ``FORMULAS`` has an entry for each metric of the catalogue.
"""

from __future__ import annotations

_AREA = r"\int_0^1 \mathrm{precision}\; \mathrm{d}\,\mathrm{recall}"
_RECALL = r"\frac{|\{g \in Q : g\ \text{found}\}|}{|Q|}"
_ECE = r"\sum_b \frac{n_b}{n} \,\bigl|\mathrm{acc}_b - \mathrm{conf}_b\bigr|"
_AP = r"\frac{TP_{%s}}{TP_{%s} + FP_{%s}}"
_E = r"E(g, s) = \frac{|g \setminus s|}{|g|}"
FORMULAS = {
    "miou": r"\frac{1}{C} \sum_y \frac{N_{yy}}{N_{y\cdot} + N_{\cdot y} - N_{yy}}",
    "fwiou": r"\frac{\sum_y N_{y\cdot}\, \mathrm{IoU}_y}{\sum_y N_{y\cdot}}",
    "mpa": r"\frac{1}{C} \sum_y \frac{N_{yy}}{N_{y\cdot}}",
    "pixel_accuracy": r"\frac{\sum_y N_{yy}}{\sum_y N_{y\cdot}}",
    "dice": r"\frac{1}{C} \sum_y \frac{2 N_{yy}}{N_{y\cdot} + N_{\cdot y}}",
    "pq": r"\frac{\sum_{(g,s) \in TP} \mathrm{IoU}(g, s)}{|TP| + \frac12 |FP| + \frac12 |FN|}",
    "sq": r"\frac{1}{|TP|} \sum_{(g,s) \in TP} \mathrm{IoU}(g, s)",
    "rq": r"\frac{|TP|}{|TP| + \frac12 |FP| + \frac12 |FN|}",
    "boundary_iou": r"\frac{|(T_d \cap T) \cap (P_d \cap P)|}{|(T_d \cap T) \cup (P_d \cap P)|}",
    "boundary_f": r"\frac{2\, p\, r}{p + r},\quad p = \frac{|\{b \in \partial P : d(b, \partial T) \le \tau\}|}"
    r"{|\partial P|},\ r = \frac{|\{b \in \partial T : d(b, \partial P) \le \tau\}|}{|\partial T|}",
    **{f"recall_{size}": _RECALL for size in ("smallest", "small", "large", "largest")},
    "ror": r"\frac{|G_O|\,|S_O|}{N M}",
    "rom": r"\tanh\bigl(\mathrm{ROR}\, m_o\bigr),\quad m_o = \sum_g \max(|\{s : s \cap g \neq \emptyset\}| - 1, 0)",
    "rur": r"\frac{|G_U|\,|S_U|}{N M}",
    "rum": r"\tanh\bigl(\mathrm{RUR}\, m_u\bigr),\quad m_u = \sum_s \max(|\{g : g \cap s \neq \emptyset\}| - 1, 0)",
    "pe_os": r"\frac{1}{N} \sum_g \Bigl(1 - \frac{|g \cap s_g|}{|g|}\Bigr),\quad s_g = \arg\max_s |g \cap s|",
    "pe_us": r"\frac{1}{N} \sum_g \Bigl(1 - \frac{|g \cap s_g|}{|s_g|}\Bigr),\quad s_g = \arg\max_s |g \cap s|",
    "ap50": _AP % ("50", "50", "50"),
    "ap75": _AP % ("75", "75", "75"),
    "ap": r"\frac{1}{10} \sum_{t = .50, .55, \dots, .95} \frac{TP_t}{TP_t + FP_t}",
    "missed": r"\frac{|\{g : \text{no } s \text{ touches } g\}|}{N}",
    "invented": r"\frac{|\{s : s \text{ touches no } g\}|}{M}",
    "cldice": r"\frac{2\, T_p\, T_s}{T_p + T_s}",
    "topology_precision": r"T_p = \frac{|\mathrm{skel}(P) \cap T|}{|\mathrm{skel}(P)|}",
    "topology_sensitivity": r"T_s = \frac{|\mathrm{skel}(T) \cap P|}{|\mathrm{skel}(T)|}",
    "gce": r"\frac{1}{n} \min\Bigl(\sum_i E(g_i, s_i),\ \sum_i E(s_i, g_i)\Bigr),\quad " + _E,
    "lce": r"\frac{1}{n} \sum_i \min\bigl(E(g_i, s_i),\ E(s_i, g_i)\bigr),\quad " + _E,
    "gce_regions": r"\frac{1}{n} \min\Bigl(\sum_i E(g_i, s_i),\ \sum_i E(s_i, g_i)\Bigr),\quad " + _E,
    "lce_regions": r"\frac{1}{n} \sum_i \min\bigl(E(g_i, s_i),\ E(s_i, g_i)\bigr),\quad " + _E,
    "partition_distance": r"1 - \frac{1}{n} \max_\pi \sum_g |g \cap s_{\pi(g)}|",
    "variation_of_information": r"H(T \mid P) + H(P \mid T)",
    "adapted_rand": r"1 - \frac{2 \sum_{gs} n_{gs}^2}{\sum_g n_g^2 + \sum_s n_s^2}",
    "average_precision": _AREA,
    "auroc": r"P(s_{\text{anomalous}} > s_{\text{known}}) + \tfrac12 P(s_{\text{anomalous}} = s_{\text{known}})",
    "fpr95": r"\mathrm{FPR}(t),\quad t = \max\{t : \mathrm{TPR}(t) \ge .95\}",
    "component_siou": r"\frac{1}{|K|} \sum_{k \in K} \mathrm{sIoU}(k),\quad "
    r"\mathrm{sIoU}(k) = \frac{|k \cap \hat K(k)|}{|(k \cup \hat K(k)) \setminus A(k)|}",
    "component_precision": r"\frac{1}{|\hat K|} \sum_{\hat k \in \hat K} \frac{|\hat k \cap K|}{|\hat k|}",
    "component_f1": r"\frac{1}{11} \sum_{\tau = .25, \dots, .75} \frac{2 TP_\tau}{2 TP_\tau + FN_\tau + FP_\tau}",
    "aupro": r"\frac{1}{f} \int_0^f \frac{1}{|K|} \sum_{k \in K} \frac{|k \cap \{s \ge t\}|}{|k|}\, \mathrm{d}\,\mathrm{FPR}(t)",
    **{f"object_recall_{size}": _RECALL for size in ("smallest", "small", "large", "largest")},
    "misclassification_ap": _AREA,
    "calibration_auroc": r"P(d_{\text{wrong}} > d_{\text{right}}) + \tfrac12 P(d_{\text{wrong}} = d_{\text{right}})",
    "misclassification_fpr95": r"P(d_{\text{right}} \ge t),\quad t = \max\{t : P(d_{\text{wrong}} \ge t) \ge .95\}",
    "correct_ap": _AREA,
    "aurc": r"\int_0^1 \frac{\text{errors among the } \kappa n \text{ surest}}{\kappa n}\, \mathrm{d}\kappa",
    "augrc": r"\int_0^1 \frac{\text{errors among the } \kappa n \text{ surest}}{n}\, \mathrm{d}\kappa",
    "pavpu": r"\frac{n_{ac} + n_{iu}}{n_{ac} + n_{au} + n_{ic} + n_{iu}}",
    "p_accurate_certain": r"\frac{n_{ac}}{n_{ac} + n_{ic}}",
    "p_uncertain_inaccurate": r"\frac{n_{iu}}{n_{ic} + n_{iu}}",
    "brier_top": r"\frac{1}{n} \sum_i \bigl(c_i - [\hat y_i = y_i]\bigr)^2",
    "brier": r"\frac{1}{n} \sum_i \sum_k \bigl(p_{ik} - [k = y_i]\bigr)^2",
    "nll": r"-\frac{1}{n} \sum_i \log p_{i y_i}",
    "ece": _ECE,
    "mce": r"\max_b \,\bigl|\mathrm{acc}_b - \mathrm{conf}_b\bigr|",
    "ece_classwise": r"\frac{1}{C} \sum_k \sum_b \frac{n_{bk}}{n} \,\bigl|\mathrm{freq}_{bk} - \mathrm{conf}_{bk}\bigr|",
    "ece_equal_mass": _ECE,
}
