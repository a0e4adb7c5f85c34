"""Values that must differ: whoever shows what another shows is named, and what was not read is not taken for different."""

from __future__ import annotations

from fleet import check, rows_of


def card_of(judge, **serials):
    distinct = check("thing.serial", op="all_distinct", scope="cluster", each="serials", value=None, want=None)
    return judge([distinct, check()], {name: {"thing": {"serials": values, "count": 8}} for name, values in serials.items()})


def test_all_different_pass(judge):
    (row,) = rows_of(card_of(judge, n1=["a", "b"], n2=["c"]), "thing.serial")
    assert row["verdict"] == "pass"


def test_the_same_on_two_nodes_names_both(judge):
    (row,) = rows_of(card_of(judge, n1=["a", "b"], n2=["c"], n3=["b"]), "thing.serial")
    assert (row["verdict"], row["nodes"]) == ("fail", "n[1,3]")
    assert {item["actual"] for item in row["items"]} == {"b"}


def test_what_was_not_read_does_not_pass(judge):
    (row,) = rows_of(card_of(judge, n1=["a"], n2=None), "thing.serial")
    assert row["verdict"] == "not_measured"


def test_a_finding_of_the_cluster_is_not_booked_on_its_nodes(judge):
    """The head says that accounting is off: every node of the cluster still passed its own checks."""
    import fleet

    head = fleet.envelope("n1", "setup", {"accounting": False}, owner="cluster")
    facts = {"n1": {"thing": {"count": 8}, "setup": head}, "n2": {"thing": {"count": 8}}}
    setup = check("setup.accounting", scope="cluster", value="accounting", want=True)
    card = judge([check(), setup], facts)
    assert rows_of(card, "setup.accounting")[0]["verdict"] == "fail"
    assert card["decision"]["verdict"] == "rejected"
    assert card["coverage"]["nodes"]["failed"] == 0
    assert [cluster["worst"] for cluster in card["clusters"]] == ["fail"]
